"""The stress set: answerable questions changed so that their documents no longer answer them."""
