package file_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
	"github.com/ohgw/ohgw/agentapi/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func editor(t testing.TB, cfg file.Config) *file.Editor {
	t.Helper()
	e, err := file.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

type seen struct {
	Text       string
	Image      string
	IsError    bool `json:"is_error"`
	Command    string
	Path       string
	PrevExist  bool    `json:"prev_exist"`
	OldContent *string `json:"old_content"`
	NewContent *string `json:"new_content"`
}

func run(t testing.TB, e *file.Editor, args map[string]any) seen {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	result, err := e.Run(t.Context(), tool.Call{Args: data})
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	var s seen
	if err := json.Unmarshal(result.Observation, &s); err != nil {
		t.Fatal(err)
	}
	s.Text = result.Content[0].Text
	if len(result.Content) > 1 && result.Content[1].Type == event.TypeImage {
		s.Image = result.Content[1].ImageURLs[0]
	}
	if s.IsError != result.IsError {
		t.Error("the result and its observation differ")
	}
	return s
}

type args = map[string]any

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// same fails if the directory holds anything but these files.
func same(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestViewNumbersLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	write(t, path, "one\n\ttwo\n\nfour")
	e := editor(t, file.Config{Dir: dir})
	for name, test := range map[string]struct {
		lines any
		want  string
	}{
		"all":           {nil, path + ":\n     1\tone\n     2\t\ttwo\n     3\t\n     4\tfour\n"},
		"some":          {[]int{2, 3}, path + ", line 2 to 3 of 4:\n     2\t\ttwo\n     3\t\n"},
		"to the end":    {[]int{4, -1}, path + ", line 4 to 4 of 4:\n     4\tfour\n"},
		"past the end":  {[]int{4, 9}, "The file has only 4 lines.\n" + path + ", line 4 to 4 of 4:\n     4\tfour\n"},
		"one too late":  {[]int{5, 6}, "must begin between 1 and 4"},
		"zero":          {[]int{0, 2}, "must begin between 1 and 4"},
		"backwards":     {[]int{3, 2}, "must not end before it begins"},
		"three numbers": {[]int{1, 2, 3}, "two numbers"},
		"none":          {[]int{}, "two numbers"},
	} {
		a := args{"command": "view", "path": path}
		if test.lines != nil {
			a["view_range"] = test.lines
		}
		got := run(t, e, a)
		isError := !strings.Contains(test.want, path)
		if got.IsError != isError || !isError && got.Text != test.want || !strings.Contains(got.Text, test.want) {
			t.Errorf("%s: result = %+v", name, got)
		}
		if got.Command != "view" || got.Path != path || !got.PrevExist || got.NewContent != nil {
			t.Errorf("%s: result = %+v", name, got)
		}
	}
	write(t, path, "")
	if got := run(t, e, args{"command": "view", "path": path}); got.IsError || got.Text != path+" is empty." {
		t.Errorf("result = %+v", got)
	}
}

// Upstream shows 39,660 characters, and wrong line numbers after the cut.
func TestViewCutsLongFilesWithTheTrueNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := editor(t, file.Config{Dir: dir})
	for name, text := range map[string]string{
		"many lines":      strings.Repeat("a line of text\n", 5000),
		"umlauts":         strings.Repeat("ä line öf text ü\n", 5000),
		"long lines":      strings.Repeat(strings.Repeat("x", 5000)+"\n", 40),
		"one long line":   strings.Repeat("x", 100_000),
		"long first line": strings.Repeat("x", 100_000) + "\n" + strings.Repeat("short\n", 3000),
		"long last line":  strings.Repeat("short\n", 3000) + strings.Repeat("x", 100_000),
		"two long lines":  strings.Repeat("x", 50_000) + "\n" + strings.Repeat("y", 50_000),
	} {
		path := filepath.Join(dir, "file")
		write(t, path, text)
		got := run(t, e, args{"command": "view", "path": path})
		if n := len([]rune(got.Text)); got.IsError || n > tool.LimitFile || n < tool.LimitFile/3 {
			t.Errorf("%s: %d characters", name, n)
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		last := 0
		for _, line := range strings.Split(got.Text, "\n")[1:] {
			var n, to int
			if _, err := fmt.Sscanf(line, "[... lines %d to %d", &n, &to); err == nil {
				if n != last+1 {
					t.Errorf("%s: left out from %d, after line %d", name, n, last)
				}
				last = to
				continue
			}
			number, shown, found := strings.Cut(line, "\t")
			if !found {
				continue
			}
			if _, err := fmt.Sscan(number, &n); err != nil || n != last+1 {
				t.Fatalf("%s: line %q after %d", name, number, last)
			}
			last = n
			shown, _, _ = strings.Cut(shown, " [... ")
			if !strings.HasPrefix(lines[n-1], shown) {
				t.Errorf("%s: line %d is shown wrongly", name, n)
			}
		}
		if last != len(lines) {
			t.Errorf("%s: ends with line %d of %d", name, last, len(lines))
		}
	}
}

func TestViewListsADirectoryTwoLevelsDeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{"b/deep/deeper", ".git", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"a.txt", "b/c.txt", "b/.hidden", "b/deep/not-shown", ".env"} {
		write(t, filepath.Join(dir, f), "x")
	}
	if err := os.Symlink("/", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll("DIR, two levels deep:\nDIR/a.txt\nDIR/b/\nDIR/b/c.txt\nDIR/b/deep/\nDIR/empty/\nDIR/link\n[and 2 hidden entries: ls -A DIR]\n", "DIR", dir)
	for _, confined := range []bool{false, true} {
		e := editor(t, file.Config{Dir: dir, Confined: confined})
		if got := run(t, e, args{"command": "view", "path": dir + "/"}); got.Text != want || got.IsError {
			t.Errorf("confined %v: %s", confined, cmp.Diff(want, got.Text))
		}
		if got := run(t, e, args{"command": "view", "path": dir, "view_range": []int{1, 2}}); !got.IsError {
			t.Errorf("result = %+v", got)
		}
	}
}

// A PNG, GIF and WebP of one pixel each.
const (
	png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
		"\x00\x00\x00\rIDATx\xdacd\xf8\xcfP\x0f\x00\x03\x86\x01\x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82"
	gif  = "GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x01L\x00;"
	webp = "RIFF\x1c\x00\x00\x00WEBPVP8L\x0f\x00\x00\x00/\x00\x00\x00\x00\x07\x10\xfd\x8f\xfe\x07\"\xa2\xff\x01\x00"
)

func TestViewShowsPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"a.png": png, "really-a-png.JPG": png, "a.gif": gif, "a.webp": webp,
		"pointer.png": "version https://git-lfs.github.com/spec/v1\n", "broken.png": "\x00\x01\x02",
	} {
		write(t, filepath.Join(dir, name), data)
	}
	e := editor(t, file.Config{Dir: dir, Vision: func() bool { return true }})
	for name, want := range map[string]string{
		"a.png": "data:image/png;base64,iVBORw0K", "really-a-png.JPG": "data:image/png;base64,", "a.gif": "data:image/gif;base64,",
		"a.webp": "data:image/webp;base64,", "pointer.png": "", "broken.png": "",
	} {
		got := run(t, e, args{"command": "view", "path": filepath.Join(dir, name)})
		if !strings.HasPrefix(got.Image, want) || (want == "") != (got.Image == "") || got.IsError != (name == "broken.png") {
			t.Errorf("%s: image = %.100s, text %+v", name, got.Image, got.Text)
		}
	}
	if !strings.Contains(e.Definition().Description, ".webp") {
		t.Error("the description does not tell of pictures")
	}
	blind := editor(t, file.Config{Dir: dir})
	got := run(t, blind, args{"command": "view", "path": filepath.Join(dir, "a.png")})
	if got.Image != "" || !strings.Contains(got.Text, "1 x 1 pixels") || got.IsError || strings.Contains(blind.Definition().Description, ".webp") {
		t.Errorf("result = %+v", got)
	}
}

func TestViewTellsWhyAPictureIsNotShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := editor(t, file.Config{Dir: dir, Vision: func() bool { return true }})
	for name, tt := range map[string]struct{ data, want string }{
		"a.bmp":     {"BM" + strings.Repeat("\x00", 60), "a.bmp cannot be shown: the picture is BMP, not PNG, JPEG, GIF or WebP."},
		"cut.png":   {png[:len(png)-20], "cut.png cannot be shown: the picture is cut off: the end of the file is missing."},
		"cut.gif":   {gif[:len(gif)-4], "cut.gif cannot be shown: the picture is cut off: the end of the file is missing."},
		"cut.jpg":   {webp[:len(webp)-3], "cut.jpg cannot be shown: the picture is cut off: the end of the file is missing."},
		"empty.png": {strings.Replace(png, "\x01", "\x00", 1), "empty.png cannot be shown: the picture has no pixels: its width or height is 0."},
	} {
		path := filepath.Join(dir, name)
		write(t, path, tt.data)
		got := run(t, e, args{"command": "view", "path": path})
		if got.Image != "" || !got.IsError || !strings.HasSuffix(got.Text, tt.want) {
			t.Errorf("%s: result = %+v", name, got)
		}
	}
}

func TestCreateMakesAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := editor(t, file.Config{Dir: dir, Confined: true})
	path := filepath.Join(dir, "new.txt")
	got := run(t, e, args{"command": "create", "path": path, "file_text": "a\r\nb"})
	if got.IsError || got.PrevExist || *got.NewContent != "a\r\nb" || got.OldContent != nil || content(t, path) != "a\r\nb" {
		t.Errorf("result = %+v", got)
	}
	plain := filepath.Join(dir, "plain")
	f, err := os.Create(plain)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != want.Mode() {
		t.Errorf("mode %v, want %v", info.Mode(), want.Mode())
	}
	for name, a := range map[string]args{
		"exists":       {"command": "create", "path": path, "file_text": "x"},
		"is directory": {"command": "create", "path": dir, "file_text": "x"},
		"no text":      {"command": "create", "path": filepath.Join(dir, "other")},
		"no parent":    {"command": "create", "path": filepath.Join(dir, "no", "such"), "file_text": "x"},
		"relative":     {"command": "create", "path": "rel", "file_text": "x"},
	} {
		if got := run(t, e, a); !got.IsError {
			t.Errorf("%s: result = %+v", name, got)
		}
	}
	if content(t, path) != "a\r\nb" {
		t.Error("an existing file was changed")
	}
	same(t, dir, "new.txt", "plain")
}

func TestRelativePathsGetAHint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "there"), "x")
	e := editor(t, file.Config{Dir: dir})
	for path, want := range map[string]string{"there": "Did you mean " + filepath.Join(dir, "there"), "not-there": "for example", "": "for example", "~/x": "for example"} {
		if got := run(t, e, args{"command": "view", "path": path}); !got.IsError || !strings.Contains(got.Text, want) {
			t.Errorf("%q: result = %+v", path, got)
		}
	}
}

func TestStrReplace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, old, with string
		after             string
		says              string // if it is refused
	}{
		"once":               {"a\nb\nc\n", "b", "B", "a\nB\nc\n", ""},
		"several lines":      {"a\nb\nc\n", "a\nb", "x", "x\nc\n", ""},
		"delete":             {"a\nb\n", "b\n", "", "a\n", ""},
		"no newline at end":  {"a\nb", "b", "c", "a\nc", ""},
		"not a pattern":      {"a.c abc\n", "a.c", "$1\\1", "$1\\1 abc\n", ""},
		"blanks around":      {"  a = 1\n", "\n a = 1 \n", "b", "  b\n", ""},
		"new_str keeps them": {"a\n", " a ", " b ", " b \n", ""},
		"not there":          {"a\n", "b", "c", "", "is not in"},
		"twice":              {"x\ny\nx\n", "x", "z", "", "2 times, in line 1, 3."},
		"twice in a line":    {"x x\n", "x", "z", "", "2 times, in line 1."},
		"the same":           {"x\n", "x", "x", "", "are the same"},
		"empty":              {"x\n", "", "y", "", "old_str is empty"},
		"only blanks":        {"x\n", " \t", "y", "", "is not in"},
		"umlauts":            {"ä ö ü\n", "ö", "ß€", "ä ß€ ü\n", ""},
		"CRLF":               {"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n", ""},
		"CRLF in old_str":    {"a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n", ""},
		"CRLF at the edges":  {"a\r\nb\r\nc\r\n", "\nb\n", "\nX\n", "a\r\nX\r\nc\r\n", ""},
		"mixed ends":         {"a\r\nb\nc\nd\n", "b\nc", "x\ny", "a\r\nx\ny\nd\n", ""},
		"lone returns":       {"a\rb\nc\n", "c", "d", "a\rb\nd\n", ""},
		"LF stays LF":        {"a\nb\n", "b", "b\r\nc", "a\nb\r\nc\n", ""},
		"BOM":                {"\xef\xbb\xbfa\nb\n", "a", "A", "\xef\xbb\xbfA\nb\n", ""},
		"Latin-1":            {"caf\xe9 na\xefve\n", "na\u00efve", "\u00fcber", "caf\xe9 \xfcber\n", ""},
		"Latin-1, elsewhere": {"caf\xe9\x81\x9d\xff\nb\n", "b", "c", "caf\xe9\x81\x9d\xff\nc\n", ""},
		"Windows-1252":       {"\x80 5\n", "5", "6 \u2014 \u2019", "\x80 6 \x97 \x92\n", ""},
		"no such character":  {"caf\xe9\n", "caf", "\u4e2d", "", "Windows-1252, which has no character"},
		"UTF-16":             {"\xff\xfea\x00\n\x00", "a", "b\u4e2d", "\xff\xfeb\x00\x2d\x4e\n\x00", ""},
		"UTF-16 big":         {"\xfe\xff\x00a\x00\n", "a", "\u00e9", "\xfe\xff\x00\xe9\x00\n", ""},
		"binary":             {"a\x00b", "a", "c", "", "binary file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			write(t, path, test.before)
			if err := os.Chmod(path, 0o751); err != nil {
				t.Fatal(err)
			}
			e := editor(t, file.Config{Dir: dir, Confined: true})
			got := run(t, e, args{"command": "str_replace", "path": path, "old_str": test.old, "new_str": test.with})
			want := test.after
			if test.says != "" {
				want = test.before
			}
			if now := content(t, path); now != want {
				t.Errorf("content = %q, want %q", now, want)
			}
			if got.IsError != (test.says != "") || !strings.Contains(got.Text, test.says) {
				t.Errorf("result = %+v", got)
			}
			if !got.IsError && (got.OldContent == nil || got.NewContent == nil || *got.OldContent == *got.NewContent) {
				t.Errorf("result = %+v", got)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o751 {
				t.Error("the mode is not kept")
			}
			same(t, dir, "file")
			if got.IsError {
				return
			}
			if got := run(t, e, args{"command": "undo_edit", "path": path}); got.IsError || content(t, path) != test.before {
				t.Errorf("taken back: %q, %+v", content(t, path), got)
			}
		})
	}
}

func TestStrReplaceShowsTheLinesAround(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	write(t, path, text.String())
	e := editor(t, file.Config{Dir: dir})
	got := run(t, e, args{"command": "str_replace", "path": path, "old_str": "line 15\nline 16\n", "new_str": "new 1\nnew 2\nnew 3\n"})
	want := "Edited " + path + ". It now reads there:\n    11\tline 11\n    12\tline 12\n    13\tline 13\n    14\tline 14\n" +
		"    15\tnew 1\n    16\tnew 2\n    17\tnew 3\n    18\tline 17\n    19\tline 18\n    20\tline 19\n    21\tline 20\n    22\tline 21\n"
	if got.Text != want {
		t.Error(cmp.Diff(want, got.Text))
	}
}

func TestInsert(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before string
		line   int
		text   string
		after  string // empty: refused
	}{
		"at the beginning":      {"a\nb\n", 0, "x", "x\na\nb\n"},
		"in the middle":         {"a\nb\n", 1, "x\ny", "a\nx\ny\nb\n"},
		"with its own line end": {"a\nb\n", 1, "x\n", "a\nx\nb\n"},
		"at the end":            {"a\nb\n", 2, "x", "a\nb\nx\n"},
		"after an open line":    {"a\nb", 2, "x", "a\nb\nx"},
		"into nothing":          {"", 0, "x", "x\n"},
		"an empty line":         {"a\nb\n", 1, "", "a\n\nb\n"},
		"CRLF":                  {"a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"},
		"CRLF, open line":       {"a\r\nb", 2, "x\n", "a\r\nb\r\nx"},
		"Latin-1":               {"\xe9\n", 1, "\u00e8", "\xe9\n\xe8\n"},
		"too far":               {"a\n", 2, "x", ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		write(t, path, test.before)
		e := editor(t, file.Config{Dir: dir})
		got := run(t, e, args{"command": "insert", "path": path, "insert_line": test.line, "new_str": test.text})
		want := test.after
		if want == "" {
			want = test.before
		}
		if now := content(t, path); now != want || got.IsError != (test.after == "") {
			t.Errorf("%s: content = %q, want %q; result %+v", name, now, want, got)
		}
	}
}

func TestEditsNeedTheirParameters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "a\n")
	e := editor(t, file.Config{Dir: dir})
	for want, a := range map[string]args{
		"needs old_str":            {"command": "str_replace", "path": path, "new_str": "x"},
		"str_replace needs new":    {"command": "str_replace", "path": path, "old_str": "a"},
		"needs insert_line":        {"command": "insert", "path": path, "new_str": "x"},
		"insert needs new_str":     {"command": "insert", "path": path, "insert_line": 0},
		"no command \"other\"":     {"command": "other", "path": path},
		"can only be viewed":       {"command": "insert", "path": dir, "insert_line": 0, "new_str": "x"},
		"missing does not exist":   {"command": "view", "path": filepath.Join(dir, "missing")},
		"There is no directory":    {"command": "view", "path": filepath.Join(dir, "missing", "file")},
		"no edit of":               {"command": "undo_edit", "path": path},
		"must begin between 1 and": {"command": "view", "path": path, "view_range": []int{-1, 1}},
	} {
		if got := run(t, e, a); !got.IsError || !strings.Contains(got.Text, want) {
			t.Errorf("the call %v: %+v", a, got)
		}
	}
}

func TestUndoTakesBackTenEdits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	write(t, path, "0\n")
	write(t, other, "a\n")
	e := editor(t, file.Config{Dir: dir})
	undo := func() seen { return run(t, e, args{"command": "undo_edit", "path": path}) }
	run(t, e, args{"command": "str_replace", "path": other, "old_str": "a", "new_str": "b"})
	for i := range 12 {
		run(t, e, args{"command": "str_replace", "path": path, "old_str": strconv.Itoa(i), "new_str": strconv.Itoa(i + 1)})
	}
	for i := 11; i >= 2; i-- {
		if got := undo(); got.IsError || content(t, path) != fmt.Sprintf("%d\n", i) {
			t.Fatalf("%d: content = %q, result %+v", i, content(t, path), got)
		}
	}
	if got := undo(); !got.IsError || content(t, path) != "2\n" {
		t.Errorf("result = %+v", got)
	}
	before := e.Held()
	if got := run(t, e, args{"command": "undo_edit", "path": other}); got.IsError || content(t, other) != "a\n" {
		t.Errorf("result = %+v", got)
	}
	if after := e.Held(); before != 4 || after != 0 {
		t.Errorf("the tool holds %d bytes for an edit of 2, %d for none", before, after)
	}
}

// Upstream says that it took something back, and changes nothing.
func TestUndoAfterCreateIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	e := editor(t, file.Config{Dir: dir})
	run(t, e, args{"command": "create", "path": path, "file_text": "x"})
	if got := run(t, e, args{"command": "undo_edit", "path": path}); !got.IsError || content(t, path) != "x" {
		t.Errorf("result = %+v", got)
	}
}

func TestUndoKeepsWhatSomebodyElseWrote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "a\n")
	e := editor(t, file.Config{Dir: dir})
	run(t, e, args{"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"})
	write(t, path, "b\nprecious\n")
	if got := run(t, e, args{"command": "undo_edit", "path": path}); !got.IsError || content(t, path) != "b\nprecious\n" {
		t.Errorf("result = %+v", got)
	}
}

func TestBigAndOddFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := editor(t, file.Config{Dir: dir})
	big := filepath.Join(dir, "big")
	write(t, big, strings.Repeat("x", 10<<20+1))
	for path, want := range map[string]string{big: "too big", "/dev/zero": "not a regular file", "/dev/null": "not a regular file"} {
		for _, a := range []args{{"command": "view", "path": path}, {"command": "insert", "path": path, "insert_line": 0, "new_str": "x"}} {
			if got := run(t, e, a); !got.IsError || !strings.Contains(got.Text, want) {
				t.Errorf("the call %v: %+v", a, got)
			}
		}
	}
}

func TestConfinedEditorStaysInside(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	write(t, secret, "SECRET\n")
	for name, target := range map[string]string{
		"file": secret, "dir": outside, "up": "..", "dangling": filepath.Join(outside, "made"), "loop": "loop", "hosts": "/etc/hosts",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := editor(t, file.Config{Dir: dir, Confined: true})
	for _, path := range []string{
		secret, outside, "/", "/etc/passwd", filepath.Dir(dir), dir + "-sibling/x",
		dir + "/../" + filepath.Base(outside) + "/secret", dir + "/sub/../../" + filepath.Base(dir) + "/../x", dir + "/file", dir + "/dir", dir + "/dir/secret", dir + "/dir/new",
		dir + "/up/x", dir + "/up", dir + "/dangling", dir + "/loop", dir + "/hosts", dir + "/sub/../dir/secret", outside + "/missing/deeper",
	} {
		for _, a := range []args{
			{"command": "view"},
			{"command": "create", "file_text": "x"},
			{"command": "str_replace", "old_str": "SECRET", "new_str": "x"},
			{"command": "insert", "insert_line": 0, "new_str": "x"},
			{"command": "undo_edit"},
		} {
			a["path"] = path
			if got := run(t, e, a); !got.IsError || strings.Contains(got.Text, "SECRET") || got.NewContent != nil {
				t.Errorf("the call %v: %+v", a, got)
			}
		}
	}
	for _, path := range []string{"/etc/passwd", dir + "/file", dir + "/dir/secret"} {
		if got := run(t, e, args{"command": "view", "path": path}); !strings.Contains(got.Text, "is outside the workspace "+dir) {
			t.Errorf("result = %+v", got)
		}
	}
	if content(t, secret) != "SECRET\n" {
		t.Error("the file outside was changed")
	}
	same(t, outside, "secret")
	same(t, dir, "dangling", "dir", "file", "hosts", "loop", "sub", "up")
}

func TestConfinedEditorFollowsLinksInside(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o700), os.Symlink("real", link),
		os.Symlink(filepath.Join(dir, "sub"), filepath.Join(dir, "absolute")), os.Symlink("a.txt", filepath.Join(dir, "sub", "b.txt"))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sub", "a.txt"), "a\n")
	e := editor(t, file.Config{Dir: link, Confined: true})
	for _, path := range []string{link + "/sub/a.txt", dir + "/sub/a.txt", link + "/absolute/b.txt"} {
		if got := run(t, e, args{"command": "view", "path": path}); got.IsError {
			t.Errorf("result = %+v", got)
		}
	}
	if got := run(t, e, args{"command": "str_replace", "path": link + "/absolute/b.txt", "old_str": "a", "new_str": "b"}); got.IsError {
		t.Errorf("result = %+v", got)
	}
	if info, err := os.Lstat(filepath.Join(dir, "sub", "b.txt")); err != nil || info.Mode()&os.ModeSymlink == 0 || content(t, filepath.Join(dir, "sub", "a.txt")) != "b\n" {
		t.Error("the link was replaced, or the file was not changed")
	}
	one, two := e.Locks(json.RawMessage(`{"path":"`+link+`/absolute/b.txt"}`)), e.Locks(json.RawMessage(`{"path":"`+dir+`/sub/../sub/a.txt"}`))
	if diff := cmp.Diff(one, two); diff != "" || len(one) != 1 || !strings.HasPrefix(one[0], "file:/") {
		t.Errorf("one file, two locks: %s", diff)
	}
}

// While another process swaps a directory for a link that leads outside, nothing outside is
// read or written.
func TestConfinedEditorIsNotFooledByARace(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "f"), "SECRET\n")
	sub, aside, trap := filepath.Join(dir, "sub"), filepath.Join(dir, "aside"), filepath.Join(dir, "trap")
	if err := errors.Join(os.Mkdir(sub, 0o700), os.Symlink(outside, trap)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(sub, "f"), "mine\n")
	e := editor(t, file.Config{Dir: dir, Confined: true})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			_ = os.Rename(sub, aside)
			_ = os.Rename(trap, sub)
			_ = os.Rename(sub, trap)
			_ = os.Rename(aside, sub)
		}
	})
	for i := range 400 {
		for _, a := range []args{{"command": "view"}, {"command": "insert", "insert_line": 0, "new_str": "x"}, {"command": "create", "file_text": "x"}, {"command": "undo_edit"}} {
			a["path"] = filepath.Join(sub, "f")
			if a["command"] == "create" {
				a["path"] = filepath.Join(sub, fmt.Sprint("new", i))
			}
			if got := run(t, e, a); strings.Contains(got.Text, "SECRET") {
				t.Fatal(got.Text)
			}
		}
	}
	stop()
	wg.Wait()
	same(t, outside, "f")
	if content(t, filepath.Join(outside, "f")) != "SECRET\n" {
		t.Error("the file outside was changed")
	}
}

func TestAnUnwritableDirectoryIsSaid(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "a\n")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // so that the directory can be removed
	e := editor(t, file.Config{Dir: dir})
	if got := run(t, e, args{"command": "str_replace", "path": path, "old_str": "a", "new_str": "b"}); !got.IsError || !strings.Contains(got.Text, "permission") {
		t.Errorf("result = %+v", got)
	}
}

func BenchmarkViewTenMegabytes(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "file")
	write(b, path, strings.Repeat("0123456789012345678901234567890123456789012345678901234567890\n", 10<<20/62))
	e := editor(b, file.Config{Dir: dir, Confined: true})
	b.ReportAllocs()
	for b.Loop() {
		if got := run(b, e, args{"command": "view", "path": path}); got.IsError {
			b.Fatal(got.Text)
		}
	}
}

func FuzzEditKeepsTheOtherBytes(f *testing.F) {
	for _, seed := range []string{"a\nMARK\nb", "caf\xe9\r\nMARK\r\n", "\xef\xbb\xbfMARK", "\xff\xfeM\x00A\x00R\x00K\x00", "\xfe\xff\x00M\x00A\x00R\x00K", "\x80\x81MARK\r\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		write(t, path, string(data))
		e := editor(t, file.Config{Dir: dir, Confined: true})
		got := run(t, e, args{"command": "str_replace", "path": path, "old_str": "MARK", "new_str": "KRAM"})
		now := content(t, path)
		if got.IsError {
			if now != string(data) {
				t.Fatal("refused and changed")
			}
			return
		}
		back := run(t, e, args{"command": "str_replace", "path": path, "old_str": "KRAM", "new_str": "MARK"})
		if !back.IsError && content(t, path) != string(data) {
			t.Fatalf("%q came back as %q", data, content(t, path))
		}
		if len(now) != len(data) {
			t.Fatalf("%q became %q", data, now)
		}
	})
}
