"""Sentences generated from a small grammar, and a language model for them."""

import random

import torch

ALPHABET = ".abcdefghijklmnopqrstuvwxyz "
END = ALPHABET.index(".")
LENGTH = 40  # of the longest sentence, its end included

DETERMINERS = ("a", "the", "every", "no")
ADJECTIVES = ("old", "red", "tall", "wet")
NOUNS = ("cat", "dog", "bird", "child")
VERBS = ("sees", "likes", "finds")


def sentence(rng):
    """Return a sentence: the dog finds a tall cat."""

    def thing():
        words = [rng.choice(DETERMINERS), rng.choice(NOUNS)]
        if rng.random() < 0.5:
            words.insert(1, rng.choice(ADJECTIVES))
        return " ".join(words)

    return f"{thing()} {rng.choice(VERBS)} {thing()}."


def make(count, seed):
    """Return sentences as numbers of letters, padded with the number of the end."""
    rng = random.Random(seed)
    rows = torch.full((count, LENGTH), END)
    for row in rows:
        text = sentence(rng)
        row[: len(text)] = torch.tensor([ALPHABET.index(letter) for letter in text])
    return rows


class Model(torch.nn.Module):
    """Predicts each letter from those before it, as a small transformer."""

    def __init__(self, width, layers):
        super().__init__()
        self.letters = torch.nn.Embedding(len(ALPHABET), width)
        self.places = torch.nn.Parameter(0.1 * torch.randn(LENGTH, width))
        layer = torch.nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=2 * width, dropout=0.0, batch_first=True
        )
        self.layers = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.scores = torch.nn.Linear(width, len(ALPHABET))
        # True for the letters that a letter must not see: those after it.
        later = torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), diagonal=1)
        self.register_buffer("later", later, persistent=False)

    def forward(self, letters):
        """Return the scores of each next letter; letters is a batch of rows."""
        length = letters.shape[1]
        inputs = self.letters(letters) + self.places[:length]
        return self.scores(self.layers(inputs, mask=self.later[:length, :length]))


def loss_of(model, rows):
    """Return the mean cross entropy of each next letter."""
    # A sentence begins after the end of another.
    inputs = torch.nn.functional.pad(rows[:, :-1], (1, 0), value=END)
    scores = model(inputs)
    return torch.nn.functional.cross_entropy(scores.flatten(0, 1), rows.flatten())


@torch.no_grad()
def perplexity_of(model, rows):
    """Return the perplexity: among how many letters the model chooses the next one, on average."""
    return loss_of(model, rows).exp().item()


@torch.no_grad()
def write(model, generator):
    """Return a sentence that the model writes."""
    row = torch.tensor([[END]])
    while row.shape[1] < LENGTH:
        odds = torch.softmax(model(row)[0, -1], dim=0)
        letter = torch.multinomial(odds, 1, generator=generator)
        row = torch.cat([row, letter[None]], dim=1)
        if letter.item() == END:
            break
    return "".join(ALPHABET[number] for number in row[0, 1:].tolist())
