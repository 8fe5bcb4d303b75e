"""Pages as a browser shows them: Chromium, and how it is started and isolated."""
