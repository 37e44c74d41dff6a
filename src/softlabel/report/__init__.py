"""Pages to look at: charts, tables and one self-contained HTML document, with nothing but numpy."""
