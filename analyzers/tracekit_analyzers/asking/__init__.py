"""What is asked of a finished analysis: free queries, filters, the tree, rows for screens."""
