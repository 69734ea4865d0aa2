/** How long to wait before a program that has ended is started again. Times are arguments. */

const FIRST_MS = 500;
const LONGEST_MS = 60_000;
/** Having run for so long, it is not what makes it end that hinders its start. */
const STABLE_MS = 60_000;

export class Backoff {
  private failures = 0;

  /** It has ended after so long: 0 the first time, then twice as long each time. */
  delayMs(ranMs: number): number {
    if (ranMs >= STABLE_MS) this.failures = 0;
    const delay = this.failures === 0 ? 0 : FIRST_MS * 2 ** (this.failures - 1);
    this.failures += 1;
    return Math.min(delay, LONGEST_MS);
  }

  /** The user asks for it. */
  reset(): void {
    this.failures = 0;
  }
}
