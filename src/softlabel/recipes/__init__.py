"""Complete recipes, by name: pictures learned from scratch, and heads on features.

A recipe is a configuration with a reason for every knob and a ``run`` that can be read top to
bottom; a new idea is a new recipe, not a new flag.
"""

from softlabel.recipes import features, images
from softlabel.recipes.base import Recipe

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
    )
}

__all__ = ["RECIPES", "Recipe", "features", "images"]
