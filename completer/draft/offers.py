"""All draft sources of a request behind one door: lookups are asked every round, the draft model when chosen."""

from collections.abc import Sequence

from completer.draft.draft_model import DraftModelSource
from completer.draft.source import MAX_K, DraftContext, DraftSource
from completer.errors import UsageError
from completer.request import Choice, Draft


class DraftSources:
    def __init__(self, lookups: Sequence[DraftSource], draft_model: DraftModelSource | None) -> None:
        self._lookups = {source.name: source for source in lookups}
        self._draft_model = draft_model
        self.catch_up_tokens = 0

    def start(self, context: DraftContext) -> None:
        self._context = context
        for source in self._lookups.values():
            source.start(context)
        if self._draft_model is not None:
            self._draft_model.start(context)

    def offers(self, token_ids: Sequence[int], remainder: bytes) -> dict[str, Draft]:
        """What the lookups propose, as far as it is a token of the target's and agrees with the remainder."""
        offers = {}
        for name, source in self._lookups.items():
            draft = self._usable(source.offer(token_ids, MAX_K), remainder)
            if draft:
                offers[name] = draft
        return offers

    def lag_tokens(self, token_ids: Sequence[int]) -> int | None:
        return None if self._draft_model is None else self._draft_model.lag_tokens(token_ids)

    def draft(
        self, choice: Choice, offers: dict[str, Draft], token_ids: Sequence[int], remainder: bytes, room: int
    ) -> Draft:
        """The chosen draft, at most min(choice.k, room) tokens; while a remainder is left, those that retype it on top.

        Without a draft those alone, but for a blank at the end, which tokenizers join with the word that follows.
        Raises UsageError when the draft model is chosen and there is none.
        """
        self.catch_up_tokens = 0
        k = max(0, min(choice.k, room))
        retyped = remainder[:-1] if remainder[-1:] in (b" ", b"\t") else remainder
        retyping_ids = tuple(self._context.tokenizer.encode(retyped.decode("utf-8", "ignore")))
        draft = Draft.EMPTY
        if choice.source == "draft_model" and k > 0:
            if self._draft_model is None:
                raise UsageError(
                    "no draft model is configured; set `draft` in the configuration or choose another source"
                )
            proposed = self._draft_model.offer(token_ids, k + len(retyping_ids), choice.stop_below)
            draft = self._usable(proposed, remainder)
            self.catch_up_tokens = self._draft_model.catch_up_tokens
        elif k > 0:
            draft = offers.get(choice.source, Draft.EMPTY)
        if not remainder:
            return draft.first(k)
        if not draft:
            return Draft(retyping_ids)
        retyping = self._context.vocabulary.retyping(remainder, draft.token_ids)
        assert retyping is not None
        return draft.first(retyping + k)

    def _usable(self, draft: Draft, remainder: bytes) -> Draft:
        vocabulary = self._context.vocabulary
        valid = next((i for i, t in enumerate(draft.token_ids) if not 0 <= t < len(vocabulary)), len(draft))
        draft = draft.first(valid)
        return draft if vocabulary.retyping(remainder, draft.token_ids) is not None else Draft.EMPTY
