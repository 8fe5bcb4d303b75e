"""Link extraction and conversion for HTML, XML, CSS, feeds and sitemaps."""
