"""Report of a run as one HTML page: facts of its folder, charts as SVG, and the sections made of them."""
