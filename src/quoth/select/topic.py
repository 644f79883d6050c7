"""Topic: a sentence about another crop does not support an answer about this one, however alike the words are."""

from __future__ import annotations

from quoth.profile import Profile
from quoth.types import Analysis, Sentence


def on_topic(sentence: Sentence, analysis: Analysis, profile: Profile) -> bool:
    """Whether the sentence could be about what the question names.

    It is not when, in a facet that questions presume, it is only about other values than those asked for. A sentence
    about nothing in particular (the facet's default) may serve any question.
    """
    for facet in profile.facets:
        asked = analysis.tags.get(facet.name, ())
        about = set(sentence.tags.get(facet.name, ())) - {facet.default}
        if facet.presumed and asked and about and not about & set(asked):
            return False
    return True
