/** Whether an extension and a program of these versions belong together. */

/** What is wrong with the pair, for the user to read; undefined where nothing is. */
export function mismatch(extension: string, program: string | undefined): string | undefined {
  if (program === undefined) return `the program does not say its version; this extension belongs to ${extension}`;
  if (release(program) === release(extension)) return undefined;
  return `the program is version ${program}, this extension belongs to ${extension}`;
}

/** Major and minor: a third number changes nothing between the two. */
function release(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}
