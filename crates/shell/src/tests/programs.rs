//! Effects of programs on the files that their arguments name.

use super::check;

#[test]
fn files_are_removed_moved_copied_and_made() {
    check(&[
        ("rm src/old.rs", &["delete src/old.rs"]),
        ("rm -rf build/ 'my file.txt' -- -odd", &["delete build", "delete my file.txt", "delete -odd"]),
        ("rm -f *.log \"*.txt\" a\\*b", &["delete *.log glob", "delete *.txt", "delete a*b"]),
        ("rmdir -p a/b && unlink c", &["delete a/b", "delete c"]),
        (
            "rm src/{a,b}.rs x{1..3}",
            &["delete src/a.rs", "delete src/b.rs", "delete x1", "delete x2", "delete x3"],
        ),
        (
            "rm 'app/[id]/page.tsx' \"app/(group)/x y.tsx\"",
            &["delete app/[id]/page.tsx", "delete app/(group)/x y.tsx"],
        ),
        ("rm app/[id]/page.tsx", &["delete app/[id]/page.tsx glob"]),
        ("mv a.rs b.rs", &["move a.rs -> b.rs"]),
        ("mv a.rs lib/", &["move a.rs -> lib/a.rs"]),
        ("mv src/a.rs .", &["move src/a.rs -> a.rs"]),
        ("mv a.rs lib", &["move a.rs -> lib or lib/a.rs"]),
        ("mv Makefile Makefile.old", &["move Makefile -> Makefile.old"]),
        ("mv a.rs b.rs lib", &["move a.rs -> lib/a.rs", "move b.rs -> lib/b.rs"]),
        ("mv -t lib a.rs", &["move a.rs -> lib/a.rs"]),
        ("mv --target-directory=lib a.rs", &["move a.rs -> lib/a.rs"]),
        ("mv -T old new", &["move old -> new"]),
        ("mv *.log logs", &["move *.log -> logs/*.log glob"]),
        ("mv \"$file\" done/", &["? mv \"$file\" done/: Path"]),
        ("mv a.rs \"$target\"", &["delete a.rs", "? mv a.rs \"$target\": Path"]),
        (
            "cp \"$(which x)\" b.txt; cat \"$x\"; mv \"$x\" c.txt",
            &["write b.txt", "write c.txt", "? mv \"$x\" c.txt: Path"],
        ),
        ("cp -n a.txt b.txt", &["read a.txt perhaps", "write b.txt perhaps"]),
        ("cp -r web/dist out", &["read web/dist", "write out or out/dist"]),
        ("install -m 755 tool bin/", &["read tool", "write bin/tool"]),
        ("install -d a b", &["folder a", "folder b"]),
        ("ln -sf ../a link", &["write link"]),
        ("ln -s /opt/x/tool", &["write tool"]),
        ("touch a b; touch -c d; touch -r ref e", &["write a", "write b", "write e"]),
        ("mkdir -p src/new -m 700", &["folder src/new"]),
        ("truncate -s 0 app.log", &["write app.log"]),
        ("dd if=/dev/zero of=disk.img bs=1M count=1", &["write disk.img"]),
        ("sort -u names.txt -o names.txt", &["write names.txt"]),
        ("curl -sL https://x.test/a.tar.gz -o /data/a.tgz", &["write /data/a.tgz"]),
        ("curl -O https://x.test/d/a.tar.gz?x=1", &["write a.tar.gz"]),
        ("echo hi | tee -a log.txt other.txt >/dev/null", &["write log.txt", "write other.txt"]),
    ]);
}

#[test]
fn names_in_any_script_are_kept() {
    check(&[
        ("cd 項目 && rm {é,b}.rs '🙂 x'", &["delete 項目/é.rs", "delete 項目/b.rs", "delete 項目/🙂 x"]),
        ("n=ü; cat \"$n.md\" > naïve.txt", &["read ü.md", "write naïve.txt"]),
        ("sed -i 's/é/e/' {ключ,値}.json", &["write ключ.json", "write 値.json"]),
    ]);
}

#[test]
fn files_are_read() {
    check(&[
        ("cat README.md src/lib.rs", &["read README.md", "read src/lib.rs"]),
        ("sed -n '1,40p' src/lib.rs", &["read src/lib.rs"]),
        ("head -20 a.txt; tail -n +5 b.txt; nl -ba c.rs", &["read a.txt", "read b.txt", "read c.rs"]),
        ("bat --line-range 1:20 a.rs; less b.txt", &["read a.rs", "read b.txt"]),
        ("wc -l < in.txt", &["read in.txt"]),
        ("cat a.txt | grep -n x | head -3", &["read a.txt"]),
        ("awk -F: '$1 > 3 {print $2}' data.csv", &["read data.csv"]),
    ]);
}

#[test]
fn files_are_edited_in_place() {
    check(&[
        ("sed -i 's/a/b/g' src/x.rs src/y.rs", &["write src/x.rs", "write src/y.rs"]),
        ("sed -i '' 's/a/b/' src/x.rs", &["write src/x.rs"]),
        ("sed -i .bak 's/a/b/' x", &["write x", "write x.bak"]),
        ("sed -i.bak -e 's/a/b/' -e 's/c/d/' x", &["write x", "write x.bak"]),
        ("sed -E -i -e 's/a/b/' x", &["write x"]),
        ("sed -ni '/x/p' x", &["write x"]),
        ("sed --in-place=.orig --expression='s/a/b/' x", &["write x", "write x.orig"]),
        ("sed -i -f script.sed x", &["write x"]),
        ("gsed -i '5d' x", &["write x"]),
        ("sed 's/a/b/' x > y", &["read x", "write y"]),
        ("perl -pi -e 's/a/b/' x y", &["write x", "write y"]),
        ("perl -0pi.bak -e 's/a/b/' x", &["write x", "write x.bak"]),
        ("perl -i -pe 's/a/b/' x", &["write x"]),
        ("ruby -pi -e 'gsub(/a/, %q(b))' x", &["write x"]),
        ("perl -ne 'print' x", &["? perl -ne 'print' x: Program"]),
        ("awk -i inplace '{print $1}' x", &["write x"]),
        ("awk '{print > \"out.txt\"}' x", &["read x", "? awk '{print > \"out.txt\"}' x: Program"]),
        ("yq -i '.a = 1' conf.yaml", &["write conf.yaml"]),
    ]);
}

#[test]
fn git_changes_the_worktree() {
    check(&[
        ("git mv src/a.rs src/b.rs", &["move src/a.rs -> src/b.rs"]),
        ("git rm -r --cached dist", &[]),
        ("git rm -f old.rs '*.log'", &["delete old.rs", "delete *.log glob"]),
        ("git checkout -- src/a.rs", &["write src/a.rs"]),
        ("git checkout HEAD~1 -- src/a.rs", &["write src/a.rs"]),
        ("git checkout src/a.rs", &["write src/a.rs"]),
        ("git checkout main src/a.rs", &["write src/a.rs"]),
        ("git checkout --theirs Cargo.lock", &["write Cargo.lock"]),
        ("git checkout -b feature/x", &[]),
        ("git checkout main", &["? git checkout main: Worktree"]),
        ("git checkout release/1.2", &["? git checkout release/1.2: Worktree"]),
        ("git checkout -- .", &["? git checkout -- .: Worktree"]),
        ("git restore src/a.rs", &["write src/a.rs"]),
        ("git restore --staged src/a.rs", &[]),
        ("git restore --source HEAD~2 --staged --worktree src/a.rs", &["write src/a.rs"]),
        ("git switch -c topic; git switch main", &["? git switch main: Worktree"]),
        ("git -C sub rm x; rm y", &["delete sub/x", "delete y"]),
        ("git -c user.name=x --no-pager log --oneline", &[]),
        ("git stash", &["? git stash: Worktree"]),
        ("git stash pop", &["? git stash pop: Worktree"]),
        ("git stash list && git stash show -p", &[]),
        ("git reset HEAD~1; git reset --hard origin/main", &["? git reset --hard origin/main: Worktree"]),
        ("git apply --check a.patch; git apply a.patch", &["? git apply a.patch: Worktree"]),
        (
            "git merge topic; git rebase main; git pull; git clean -n; git clean -fd",
            &[
                "? git merge topic: Worktree",
                "? git rebase main: Worktree",
                "? git pull: Worktree",
                "? git clean -fd: Worktree",
            ],
        ),
        ("git add -A && git commit -m 'rm x' && git push", &[]),
        ("git show HEAD:a.rs > old.rs", &["write old.rs"]),
        ("git clone https://x.test/a/tool.git", &["folder tool"]),
    ]);
}

#[test]
fn patches_name_their_files() {
    let patch = "*** Begin Patch\n*** Add File: app/[id]/(g)/new page.tsx\n+x\n*** Update File: a.rs\n*** Move to: b.rs\n-x\n+y\n*** Update File: c.rs\n@@\n-x\n*** Delete File: d.rs\n*** End Patch";
    let expected: &[&str] =
        &["create app/[id]/(g)/new page.tsx", "move a.rs -> b.rs", "write c.rs", "delete d.rs"];
    check(&[
        (&format!("apply_patch <<'EOF'\n{patch}\nEOF\n"), expected),
        (&format!("apply_patch << \"EOF\"\n{patch}\nEOF"), expected),
        (&format!("apply_patch '{patch}'"), expected),
        (&format!("apply_patch {patch}"), expected),
        (patch, expected),
        (&format!("bash -lc 'apply_patch <<\"EOF\"\n{patch}\nEOF'"), expected),
        (&format!("apply_patch \"$(cat <<'EOF'\n{patch}\nEOF\n)\""), expected),
        (
            "cd web && apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: d.ts\n*** End Patch\nEOF",
            &["delete web/d.ts"],
        ),
    ]);
    let argv = ["bash", "-lc", &format!("cd x && apply_patch <<'EOF'\n{patch}\nEOF")];
    let found = super::told(&crate::effects_of_words(&argv, Some("/w")));
    assert_eq!(found.last().map(String::as_str), Some("delete /w/x/d.rs"));
    let found = super::told(&crate::effects_of_words(&["apply_patch", patch], None));
    assert_eq!(found, expected);
}

#[test]
fn programs_with_unknown_effects_are_named() {
    check(&[
        ("python3 tools/gen.py --all", &["? python3 tools/gen.py --all: Program"]),
        ("python - <<'EOF'\nopen('x','w')\nEOF", &["? python: Program"]),
        ("python3 -m pytest -q && python3 --version", &[]),
        ("make && make -n x", &["? make: Program"]),
        (
            "./build.sh; sh build.sh; ./gradlew test",
            &["? ./build.sh: Program", "? sh build.sh: Program", "? ./gradlew test: Program"],
        ),
        ("cargo fmt; cargo fmt --check; cargo fix", &["? cargo fmt: Program", "? cargo fix: Program"]),
        ("cargo test -p x && cargo clippy -- -D warnings; cargo add serde", &["? cargo add serde: Program"]),
        ("npx prettier --check . ; npx prettier --write a.ts", &["? npx prettier --write a.ts: Program"]),
        ("npm test; npm install left-pad", &["? npm install left-pad: Program"]),
        ("ls *.o | xargs rm -f", &["? xargs rm -f: Program"]),
        ("rg -l x | xargs grep -n y", &[]),
        ("rg -l x | xargs sed -i s/x/y/", &["? xargs sed -i s/x/y/: Program"]),
        ("find . -name '*.o' -delete", &["? find . -name '*.o' -delete: Program"]),
        ("find . -name '*.rs' -exec wc -l {} +", &[]),
        ("find . -type f -exec rm {} \\;", &["? find . -type f -exec rm {} \\;: Program"]),
        ("ls -la && grep -rn x src | wc -l; pwd; echo done; which node", &[]),
        ("tar tf a.tgz; tar xzf a.tgz", &["? tar xzf a.tgz: Program"]),
        ("jest; jest -u", &["? jest -u: Program"]),
        (
            "go test -v -run TestX ./...; eslint --fix=false .; ruff check --fix",
            &["? ruff check --fix: Program"],
        ),
        ("UPDATE_EXPECT=1 cargo test", &["? UPDATE_EXPECT=1 cargo test: Program"]),
        ("eval \"$cmd\"; $RUNNER x", &["? eval \"$cmd\": Dynamic", "? $RUNNER x: Dynamic"]),
    ]);
}
