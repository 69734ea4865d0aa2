"""What a completion is worth: problems with a known answer, the ways to complete them, and scores. Knows no command."""
