"""Prints the verbs of Determined's own det, a line each: kind and words. It runs in an environment with that package.

    group  experiment             a word that verbs follow
    verb   experiment list        a verb
    alias  experiment ls          another spelling of the group or verb before
    flag   -a --all               the spellings of an option of the verb before
    arg    experiment_id          an argument of the verb before
"""

import argparse
from typing import Dict, Iterator, List, Tuple

from determined.cli import _declarative_argparse as declared
from determined.cli import cli
from determined.deploy import cli as deploy


def actions(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
            continue
        if action.option_strings:
            yield "flag\t" + " ".join(action.option_strings)
        else:
            yield "arg\t" + action.dest


def verbs(parser: argparse.ArgumentParser, words: Tuple[str, ...]) -> Iterator[str]:
    for group in parser._actions:
        if not isinstance(group, argparse._SubParsersAction):
            continue
        spellings: Dict[int, List[str]] = {}
        for name, sub in group.choices.items():
            spellings.setdefault(id(sub), []).append(name)
        for names in spellings.values():
            if names[0] == "help":
                continue
            sub, path = group.choices[names[0]], words + (names[0],)
            inner = any(isinstance(a, argparse._SubParsersAction) for a in sub._actions)
            yield ("group\t" if inner else "verb\t") + " ".join(path)
            for other in names[1:]:
                yield "alias\t" + " ".join(words + (other,))
            yield from actions(sub)
            yield from verbs(sub, path)


def is_deploy(part: object) -> bool:
    """Whether a part of the parser stands for det deploy, whose own parts are loaded only on use."""
    return isinstance(part, declared.Cmd) and declared.generate_aliases(part.name)[0] == "deploy"


def main() -> None:
    parser = cli.make_parser()
    declared.add_args(parser, [d for d in cli.all_args_description if not is_deploy(d)] + [deploy.args_description])
    for line in verbs(parser, ()):
        print(line)


if __name__ == "__main__":
    main()
