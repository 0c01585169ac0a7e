"""The board: pages for people, drawn on the server, with one small script that keeps them up to date."""
