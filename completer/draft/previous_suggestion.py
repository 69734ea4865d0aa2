"""What was suggested before, as the draft of the next request: right parts of stale ghost text cost one pass."""

from collections.abc import Sequence

from completer.draft.ngram import NgramIndex
from completer.draft.source import DraftContext
from completer.request import Draft


class PreviousSuggestionSource:
    """Offers the rest of the old text while the new one follows it; after a difference, finds its way back by lookup.

    Aligned by bytes: the old text is tokenised again behind what has been written, as the target would write it.
    """

    name = "previous_suggestion"

    def start(self, context: DraftContext) -> None:
        self._prompt_length = len(context.prompt_ids)
        self._encode = context.tokenizer.encode
        self._token_bytes = context.vocabulary.token_bytes
        self._text = context.remainder + context.previous_suggestion.encode() if context.previous_suggestion else b""
        self._rest_ids = tuple(self._encode(self._text.decode("utf-8", "replace"))) if self._text else ()
        self._rest_from = 0  # tokens written when _rest_ids was made
        self._lookup: NgramIndex | None = None

    def offer(self, token_ids: Sequence[int], max_k: int, stop_below: float = 0.0) -> Draft:
        del stop_below  # an old text has no probabilities
        if not self._text:
            return Draft.EMPTY
        written = list(token_ids[self._prompt_length :])
        if self._lookup is None:
            if written[self._rest_from :] == list(self._rest_ids[: len(written) - self._rest_from]):
                proposed = self._rest_ids[len(written) - self._rest_from :][:max_k]
                return Draft(proposed, len(written) + 1) if proposed else Draft.EMPTY
            done = b"".join(self._token_bytes[t] for t in written)
            if self._text.startswith(done):
                self._rest_ids = tuple(self._encode(self._text[len(done) :].decode("utf-8", "replace")))
                self._rest_from = len(written)
                proposed = self._rest_ids[:max_k]
                return Draft(proposed, len(written) + 1) if proposed else Draft.EMPTY
            self._lookup = NgramIndex()
            self._old_ids = self._encode(self._text.decode("utf-8", "replace"))
        return self._resynchronised(written, max_k)

    def _resynchronised(self, written: list[int], max_k: int) -> Draft:
        """What followed, in the old text, the tokens that the new text ends with."""
        assert self._lookup is not None
        self._lookup.align([*self._old_ids, *written])
        match_length, position = self._lookup.find()
        proposed = tuple(self._old_ids[position : position + max_k]) if match_length else ()
        return Draft(proposed, min(match_length, len(written))) if proposed else Draft.EMPTY
