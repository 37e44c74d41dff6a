"""Complete recipes, by name: pictures and texts learned from scratch, and heads on features.

A recipe is a configuration with a reason for every knob and a ``run`` that can be read top to
bottom; a new idea is a new recipe, not a new flag.
"""

from softlabel.train.recipes import features, images, text, text_hub
from softlabel.train.recipes.base import Recipe

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        images.SMALL,
        images.C22_RESNET34A,
        images.C22_VGG11,
        images.C22_RESNET50,
        images.U20,
        images.G26,
        features.MLP,
        features.LINEAR,
        text.WORDS,
        text_hub.HUB,
    )
}

__all__ = ["RECIPES", "Recipe", "features", "images", "text", "text_hub"]
