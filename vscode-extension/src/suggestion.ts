/** A suggestion on the screen, or on its way to it: a text that grows, at one place in one version of a document. */

/** Where the cursor was when it was asked for. selected: the text of the item chosen in the popup, where one was open. */
export interface Place {
  readonly uri: string;
  readonly version: number;
  readonly line: number;
  readonly character: number;
  readonly selected: string;
}

export function isSamePlace(one: Place, other: Place): boolean {
  return (
    one.uri === other.uri &&
    one.version === other.version &&
    one.line === other.line &&
    one.character === other.character &&
    one.selected === other.selected
  );
}

export class Suggestion<Item> {
  isDone = false;
  private given = '';
  private waiting: (() => void)[] = [];

  /**
   * typed: how much of text stands before the cursor already, as what the item replaces.
   * item: as the server sent it.
   */
  constructor(
    readonly id: string,
    readonly item: Item,
    readonly place: Place,
    private shown: string,
    private typed: number,
  ) {}

  get text(): string {
    return this.shown;
  }

  /** The editor gets all that there is of it, to show. */
  give(): string {
    this.given = this.shown;
    return this.given;
  }

  /** More of it has arrived. Whether that shows: what does not go on from the text before is not taken. */
  grow(text: string, isDone: boolean): boolean {
    const isMore = text.length > this.shown.length && text.startsWith(this.shown);
    if (isMore) this.shown = text;
    if (isDone) this.end();
    return isMore;
  }

  /** Nothing more will come. */
  end(): void {
    this.isDone = true;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Once nothing more will come. */
  async ended(): Promise<void> {
    if (!this.isDone) await new Promise<void>((wake) => this.waiting.push(wake));
  }

  /** These characters of it are in the document now; false where they are not the next ones. */
  typeThrough(inserted: string): boolean {
    if (!this.shown.startsWith(inserted, this.typed)) return false;
    this.typed += inserted.length;
    return this.typed < this.shown.length || !this.isDone;
  }

  /**
   * How much of it has been accepted when `inserted` is put in at the cursor, in all from its beginning; 0 where that
   * is typing, or something else. An editor does not say that a word or a line was accepted; typing inserts one
   * character, or a line's end with its indentation, at a time. All of it at once is what the accept command reports,
   * as far as the editor has got it.
   */
  acceptedBy(inserted: string): number {
    const isAll = inserted === this.shown.slice(this.typed) || inserted === this.given.slice(this.typed);
    const isPart = !isAll && inserted.length > 1 && inserted.trim() !== '' && this.shown.startsWith(inserted, this.typed);
    return isPart ? this.typed + inserted.length : 0;
  }
}
