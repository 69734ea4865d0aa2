"""What may be read at all: secret files, ignore patterns, switches. Reads no document."""
