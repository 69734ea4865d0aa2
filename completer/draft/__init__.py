"""Draft sources: what can propose the next tokens cheaply. They propose; they never verify and never learn."""
