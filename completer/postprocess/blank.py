"""Nothing to see."""

from completer.postprocess.context import FilterContext


def drop_blank(text: str, context: FilterContext) -> str:
    """Discard a completion without a visible character."""
    return text if text.strip() else ""
