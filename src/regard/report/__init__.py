"""HTML report of a run: data collection, SVG charts, and page sections."""
