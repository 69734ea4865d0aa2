"""Models on disk: which are known, how they get here, and what reads them. Knows no decoding."""
