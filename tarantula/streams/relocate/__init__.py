"""Find a followed value again after its page has changed, or report a doubt; never return
another value in its place.
"""
