from tidelog.errors import Problem
from tidelog.language.declarations import Scheme
from tidelog.language.syntax import Rule

def subtype_problems(rule: Rule, scheme: Scheme) -> list[Problem]:
    return []
