"""The mission in one page: six sections, a file each, and `page` that puts them together."""
