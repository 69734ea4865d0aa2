"""Other files' text for the prompt: which files, which pieces of them, in which order. Knows no model and no editor."""
