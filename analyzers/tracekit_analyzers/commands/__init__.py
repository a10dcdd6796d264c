"""The commands of the `analyzers` extra: one file each; stdout is data, stderr is talk."""
