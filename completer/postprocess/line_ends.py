"""Line ends: a completion has those of its document."""

from completer.postprocess.context import FilterContext


def match_line_ends(text: str, context: FilterContext) -> str:
    """Use the line ends of the document. One that has none yet, or of both kinds, says nothing."""
    line_feeds = context.fim_prefix.count("\n") + context.fim_suffix.count("\n")
    returns = context.fim_prefix.count("\r\n") + context.fim_suffix.count("\r\n")
    if not line_feeds or 0 < returns < line_feeds:
        return text
    plain = text.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if returns else plain
