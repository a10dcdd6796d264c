"""An OTLP receiver over HTTP on loopback that writes the native log, so that an agent in any language can be read."""
