"""Outlines: of a long file, only what others use of it."""

from textwrap import dedent

import pytest

from completer.context.outline import LONG_LINES, outline
from completer.languages import language


def long(text: str) -> str:
    return text + "\n" * LONG_LINES


def check(language_id: str, text: str, expected: str) -> None:
    assert outline(long(dedent(text)), language(language_id)).strip() == dedent(expected).strip()


def test_python() -> None:
    check(
        "python",
        '''
        """Module.

        More.
        """
        import os

        # note
        LIMIT = 3

        @cache
        def f(a: int, *, b=1) -> str:
            """First line.

            More.
            """
            def inner():
                return 1
            return inner()


        class A(B):
            """A thing."""

            x: int = 1

            async def h(self):
                await x
                return 2

            def one(self): return 1

        if __name__ == "__main__":
            f(1)
        ''',
        '''
        """Module."""

        LIMIT = 3

        @cache
        def f(a: int, *, b=1) -> str:
            """First line."""

        class A(B):
            """A thing."""

            x: int = 1

            async def h(self):
                ...

            def one(self): return 1
        ''',
    )


def test_typescript() -> None:
    check(
        "typescript",
        """
        import x from "y";

        /** Doc. */
        export class A<T> extends B {
          private n = 1;
          get m(): number {
            return this.n;
          }
        }
        export const f = async (a: number): Promise<void> => {
          await a;
        };
        interface I { a: string }
        type U = 1 | 2;
        """,
        """
        export class A<T> extends B {
          private n = 1;
          get m(): number { ... }
        }
        export const f = async (a: number): Promise<void> => { ... };
        interface I { a: string }
        type U = 1 | 2;
        """,
    )


def test_go() -> None:
    check(
        "go",
        """
        package p

        import "x"

        type S struct {
            A int
        }

        // F does.
        func (s *S) F(a int) error {
            return nil
        }
        """,
        """
        type S struct {
            A int
        }

        func (s *S) F(a int) error { ... }
        """,
    )


def test_rust() -> None:
    check(
        "rust",
        """
        use a::b;

        #[derive(Debug)]
        pub struct S { x: u8 }

        impl T for S {
            fn f(&self) -> u8 {
                1
            }
        }
        """,
        """
        #[derive(Debug)]
        pub struct S { x: u8 }

        impl T for S {
            fn f(&self) -> u8 { ... }
        }
        """,
    )


def test_cpp() -> None:
    check(
        "cpp",
        """
        #include "x.h"

        namespace n {
        class A : public B {
          int f() {
            return 1;
          }
        };
        }
        int g(int a);
        """,
        """
        namespace n {
        class A : public B {
          int f() { ... }
        };
        }
        int g(int a);
        """,
    )


def test_java() -> None:
    check(
        "java",
        """
        package a;
        import b.C;

        public class A {
          private int x = 1;
          A(int y) {
            x = y;
          }

          @Override
          int f() {
            return 1;
          }
        }
        """,
        """
        public class A {
          private int x = 1;
          A(int y) { ... }

          @Override
          int f() { ... }
        }
        """,
    )


def test_a_short_file_and_one_without_a_grammar_are_whole() -> None:
    short = "def f():\n    return 1\n"
    assert outline(short, language("python")) == short
    assert outline(long(short), language("plaintext")) == long(short)


@pytest.mark.parametrize("text", ["def f(:\n  '''", "class A { fn ((", "\ud800", "(" * 20_000, "a + " * 5_000 + "a"])
def test_what_does_not_parse_is_no_error(text: str) -> None:
    for language_id in ("python", "typescript", "cpp"):
        outline(long(text), language(language_id))


def test_a_text_too_hard_to_parse_is_its_own_outline() -> None:
    text = long('"' * 47_000)
    assert outline(text, language("typescriptreact")) == text
