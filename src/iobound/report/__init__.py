"""Pure renderings of a judged run: terminal, HTML, Markdown, JSON, CSV. No arithmetic on measurements."""
