"""Facts like those of LUBM, in any number: universities with departments, their people, courses and publications.

Numbers of everything per department are those of the Univ-Bench generator (Guo, Pan, Heflin: LUBM, 2005).
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field

import pyarrow

_FACULTY = (
    ("src_FullProfessor", 7, 10, 15, 20),
    ("src_AssociateProfessor", 10, 14, 10, 18),
    ("src_AssistantProfessor", 8, 11, 5, 10),
    ("src_Lecturer", 5, 7, 0, 5),
)
"""Kind, the fewest and most per department, the fewest and most publications of each."""
_DEGREES = ("src_undergraduateDegreeFrom", "src_mastersDegreeFrom", "src_doctoralDegreeFrom")
_UNIVERSITIES = 1_000


def campuses(triples: int, seed: int) -> dict[str, pyarrow.Table]:
    """Return at least as many facts as requested, the same for the same seed, as tables by relation."""
    made = _Campuses(random.Random(seed))
    while made.count < triples:
        made.university()
    return {
        name: pyarrow.table(list(map(list, zip(*rows, strict=True))), list("xy")[: len(rows[0])])
        for name, rows in made.rows.items()
    }


@dataclass
class _Campuses:
    random: random.Random
    rows: defaultdict[str, list[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(list))
    count: int = 0
    universities: int = 0
    entities: int = 0

    def add(self, relation: str, *row: str) -> None:
        self.rows[relation].append(row)
        self.count += 1

    def new(self, kind: str | None = None) -> str:
        self.entities += 1
        name = f"e{self.entities}"
        if kind is not None:
            self.add(kind, name)
            self.add("src_name", name, f"n{self.entities}")
        return name

    def some_university(self) -> str:
        return f"u{self.random.randrange(_UNIVERSITIES)}"

    def university(self) -> None:
        if not self.universities:
            for i in range(_UNIVERSITIES):
                self.add("src_University", f"u{i}")
        name = f"u{self.universities % _UNIVERSITIES}"
        self.universities += 1
        for _ in range(self.random.randint(15, 25)):
            self.department(name)

    def department(self, university: str) -> None:
        draw = self.random.randint
        department = self.new("src_Department")
        self.add("src_subOrganizationOf", department, university)
        for _ in range(draw(10, 20)):
            self.add("src_subOrganizationOf", self.new("src_ResearchGroup"), department)
        faculty: list[str] = []
        courses: list[str] = []
        graduate_courses: list[str] = []
        papers: list[str] = []
        for kind, fewest, most, few, many in _FACULTY:
            for i in range(draw(fewest, most)):
                person = self.person(kind, department, "src_worksFor")
                for degree in _DEGREES:
                    self.add(degree, person, self.some_university())
                if kind == "src_FullProfessor" and i == 0:
                    self.add("src_headOf", person, department)
                if kind != "src_Lecturer":
                    faculty.append(person)
                    self.add("src_researchInterest", person, f"Research{draw(0, 29)}")
                for sort, place in (("src_Course", courses), ("src_GraduateCourse", graduate_courses)):
                    for _ in range(draw(1, 2)):
                        place.append(self.new(sort))
                        self.add("src_teacherOf", person, place[-1])
                for _ in range(draw(few, many)):
                    papers.append(self.new("src_Publication"))
                    self.add("src_publicationAuthor", papers[-1], person)
        self.students(department, faculty, courses, graduate_courses, papers)

    def students(
        self, department: str, faculty: list[str], courses: list[str], graduate: list[str], papers: list[str]
    ) -> None:
        draw, pick = self.random.randint, self.random.choice
        for _ in range(len(faculty) * draw(8, 14)):
            person = self.person("src_UndergraduateStudent", department, "src_memberOf")
            for course in self.random.sample(courses, draw(2, 4)):
                self.add("src_takesCourse", person, course)
            if draw(1, 5) == 1:
                self.add("src_advisor", person, pick(faculty))
        for _ in range(len(faculty) * draw(3, 4)):
            person = self.person("src_GraduateStudent", department, "src_memberOf")
            self.add("src_undergraduateDegreeFrom", person, self.some_university())
            self.add("src_advisor", person, pick(faculty))
            for course in self.random.sample(graduate, draw(1, 3)):
                self.add("src_takesCourse", person, course)
            for paper in self.random.sample(papers, draw(0, 5)):
                self.add("src_publicationAuthor", paper, person)
            job = draw(1, 4)
            if job == 1:
                self.add("src_ResearchAssistant", person)
            elif job == 2:
                self.add("src_TeachingAssistant", person)
                self.add("src_teachingAssistantOf", person, pick(courses))

    def person(self, kind: str, department: str, relation: str) -> str:
        person = self.new(kind)
        self.add(relation, person, department)
        self.add("src_emailAddress", person, f"m{self.entities}")
        self.add("src_telephone", person, "xxx-xxx-xxxx")
        return person
