"""Find a followed value again on a changed page, or report a doubt; never return another value."""
