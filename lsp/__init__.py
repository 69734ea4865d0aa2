"""The edge: editors, documents and sockets. Knows no tensors."""
