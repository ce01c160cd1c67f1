package markdown

import (
	"slices"
	"strings"
)

// grammar is what there is to know of a language to show it in colours.
type grammar struct {
	words    map[string]bool
	comments []string    // each reaches to the end of the line
	blocks   [][2]string // begin and end of what spans lines
	quotes   string      // characters around texts
	inName   string      // what a name holds beside letters, digits and _
	key      string      // what follows a name that is a key
	keys     bool        // names before key are shown
	fold     bool        // case means nothing in words
	textOnly bool        // no numbers, no calls
	diff     bool
}

// languages are the grammars by the names of their languages.
var languages = []struct {
	names []string
	words string
	grammar
}{
	{[]string{"", "text", "txt", "plain", "plaintext", "output", "log", "md", "markdown"}, "", grammar{textOnly: true}},
	{[]string{"diff", "patch"}, "", grammar{diff: true}},
	{[]string{"json", "jsonc", "json5", "jsonl"}, "true false null", grammar{quotes: `"`, comments: []string{"//"}}},
	{[]string{"yaml", "yml"}, "true false null yes no on off", grammar{quotes: `"'`, comments: []string{"#"}, inName: "-.", key: ":", keys: true}},
	{[]string{"toml", "ini", "conf", "properties", "env", "dotenv"}, "true false null yes no on off", grammar{quotes: `"'`, comments: []string{"#"}, inName: "-.", key: "=", keys: true}},
	{[]string{"sh", "bash", "zsh", "shell", "console", "fish", "dockerfile", "docker", "make", "makefile"}, shellWords, grammar{quotes: `"'`, comments: []string{"# ", "#!"}, inName: "-"}},
	{[]string{"py", "python", "python3"}, pythonWords, grammar{quotes: `"'`, comments: []string{"#"}, blocks: [][2]string{{`"""`, `"""`}, {"'''", "'''"}}}},
	{[]string{"rb", "ruby", "elixir", "ex", "perl", "pl", "r", "julia", "nim"}, rubyWords, grammar{quotes: `"'`, comments: []string{"#"}}},
	{[]string{"sql", "postgresql", "mysql", "sqlite"}, sqlWords, grammar{quotes: `"'`, comments: []string{"--"}, blocks: [][2]string{{"/*", "*/"}}, fold: true}},
	{[]string{"html", "xml", "svg", "vue", "svelte"}, "", grammar{quotes: `"'`, blocks: [][2]string{{"<!--", "-->"}}, inName: "-", key: "=", keys: true, textOnly: true}},
	{[]string{"css", "scss", "less"}, "", grammar{quotes: `"'`, blocks: [][2]string{{"/*", "*/"}}, inName: "-", key: ":", keys: true}},
	{[]string{"lua"}, rubyWords + " local repeat", grammar{quotes: `"'`, comments: []string{"--"}, blocks: [][2]string{{"--[[", "]]"}}}},
	{[]string{"haskell", "hs", "elm"}, "module import where let in case of if then else data type newtype class instance do deriving", grammar{quotes: `"`, comments: []string{"--"}}},
	{[]string{"rust", "rs"}, cWords + rustWords, grammar{quotes: `"`, comments: []string{"//"}, blocks: [][2]string{{"/*", "*/"}}}},
	{[]string{"go", "golang"}, goWords, grammar{quotes: `"'`, comments: []string{"//"}, blocks: [][2]string{{"/*", "*/"}, {"`", "`"}}}},
	{[]string{"js", "javascript", "ts", "typescript", "jsx", "tsx", "mjs"}, cWords + scriptWords, grammar{quotes: `"'`, comments: []string{"//"}, blocks: [][2]string{{"/*", "*/"}, {"`", "`"}}}},
	{[]string{"c", "h", "cpp", "c++", "hpp", "cs", "csharp", "java", "kotlin", "kt", "swift", "scala", "dart", "php", "zig", "proto", "groovy", "objc"}, cWords + nativeWords, grammar{quotes: `"'`, comments: []string{"//"}, blocks: [][2]string{{"/*", "*/"}}}},
}

// grammarOf knows a language by its names; of others it knows texts in quotes.
func grammarOf(lang string) grammar {
	for _, l := range languages {
		if slices.Contains(l.names, lang) {
			g := l.grammar
			g.words = set(l.words)
			return g
		}
	}
	return grammar{quotes: `"`}
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

const (
	goWords = `break case chan const continue default defer else fallthrough for func go goto if import interface map package
range return select struct switch type var nil true false iota any error string int int64 uint byte rune bool float64`
	pythonWords = `and as assert async await break class continue def del elif else except False finally for from global if
import in is lambda None nonlocal not or pass raise return self True try while with yield match case`
	cWords = ` break case catch char class const continue default do double else enum extern false float for if import in int
interface long new null package private protected public return short signed static struct super switch this throw true try
typedef union unsigned using var void volatile while `
	nativeWords = ` auto bool namespace nullptr override template typename virtual constexpr sizeof string var val fun when object
func let guard final abstract implements extends throws synchronized foreach function echo message service rpc optional `
	scriptWords = ` async await export extends from function instanceof let of readonly type typeof undefined yield keyof
implements never unknown string number boolean as satisfies `
	rustWords = ` as async await crate dyn fn impl let loop match mod move mut pub ref self Self trait type unsafe use where
Some None Ok Err usize u8 u16 u32 u64 i8 i16 i32 i64 bool str String Vec Option Result `
	rubyWords = `alias and begin break case class def do else elsif elseif end ensure false for function if in module next nil
not or redo rescue retry return self super then true undef unless until when while yield require fn defmodule use my sub`
	shellWords = `if then else elif fi for while until do done case esac in function return export local readonly set unset
source alias cd echo exit eval exec trap sudo FROM RUN CMD COPY ADD ENV ARG WORKDIR ENTRYPOINT EXPOSE USER VOLUME`
	sqlWords = `select from where and or not null is in as on join left right inner outer full cross group by order having limit
offset insert into values update set delete create table view index drop alter add column primary key foreign references
unique default check distinct union all case when then else end with exists between like asc desc begin commit rollback
returning integer text boolean timestamp varchar`
)
