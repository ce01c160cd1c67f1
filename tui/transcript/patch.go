package transcript

import (
	"strconv"
	"strings"
)

// change is a line of a patch.
type change struct {
	kind     byte // ' ', '+', '-', '@' for where a part begins, '=' for a file's name
	old, new int  // the numbers of the line; 0 where it has none
	text     string
	words    [][2]int // bytes of text that differ from the line it took the place of
}

// parsePatch reads a unified patch. What is not one is read as well as possible.
func parsePatch(s string) []change {
	var all []change
	var before, after, leftOld, leftNew int
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			line = " "
		}
		inside := leftOld > 0 || leftNew > 0
		switch c := line[0]; {
		case strings.HasPrefix(line, "@@ "):
			before, leftOld, after, leftNew = hunk(line)
			all = append(all, change{kind: '@', text: strings.ReplaceAll(line, "\t", " ")})
		case !inside && strings.HasPrefix(line, "--- "):
		case !inside && strings.HasPrefix(line, "+++ "):
			all = append(all, change{kind: '=', text: strings.ReplaceAll(line[4:], "\t", " ")})
		case c == '-':
			all = append(all, change{kind: '-', old: before, text: line[1:]})
			before, leftOld = before+1, leftOld-1
		case c == '+':
			all = append(all, change{kind: '+', new: after, text: line[1:]})
			after, leftNew = after+1, leftNew-1
		case c == '\\':
			all = append(all, change{kind: '@', text: strings.ReplaceAll(line, "\t", " ")})
		default:
			all = append(all, change{kind: ' ', old: before, new: after, text: strings.TrimPrefix(line, " ")})
			before, after, leftOld, leftNew = before+1, after+1, leftOld-1, leftNew-1
		}
	}
	for i := 0; i < len(all); {
		removed, added := replaced(all, i)
		for n := range min(removed, added) {
			compareWords(&all[i+n], &all[i+removed+n])
		}
		i += max(removed+added, 1)
	}
	return all
}

// hunk reads "@@ -1,3 +1,4 @@".
func hunk(line string) (before, olds, after, news int) {
	fields := strings.Fields(line)
	read := func(i int) (at, n int) {
		n = 1
		if len(fields) <= i || len(fields[i]) < 2 {
			return 1, n
		}
		first, count, more := strings.Cut(fields[i][1:], ",")
		at, _ = strconv.Atoi(first)
		if more {
			n, _ = strconv.Atoi(count)
		}
		return max(at, 0), max(n, 0)
	}
	before, olds = read(1)
	after, news = read(2)
	return before, olds, after, news
}

// replaced is how many removed lines are at i, and how many added ones follow.
func replaced(all []change, i int) (removed, added int) {
	for i+removed < len(all) && all[i+removed].kind == '-' {
		removed++
	}
	for i+removed+added < len(all) && all[i+removed+added].kind == '+' {
		added++
	}
	return removed, added
}

// maxWords is how many words of a line are compared one by one.
const maxWords = 60

// compareWords finds the words of two lines that differ. Lines with little in
// common are different as a whole: nothing is marked.
func compareWords(before, after *change) {
	a, b := words(before.text), words(after.text)
	first, last := 0, 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	for last < min(len(a), len(b))-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	inA, inB := common(a[first:len(a)-last], b[first:len(b)-last])
	same := 0
	for _, w := range a[:first] {
		same += len(w)
	}
	for _, w := range a[len(a)-last:] {
		same += len(w)
	}
	for i, in := range inA {
		if in {
			same += len(a[first+i])
		}
	}
	if 2*same < max(len(before.text), len(after.text))/2 {
		return
	}
	before.words, after.words = differing(a, inA, first), differing(b, inB, first)
}

// differing finds the bytes of the words that are not common.
func differing(all []string, in []bool, first int) [][2]int {
	var found [][2]int
	at := 0
	for i, w := range all {
		if n := i - first; n >= 0 && n < len(in) && !in[n] {
			if k := len(found); k > 0 && found[k-1][1] == at {
				found[k-1][1] += len(w)
			} else {
				found = append(found, [2]int{at, at + len(w)})
			}
		}
		at += len(w)
	}
	return found
}

// common reports which words are in a longest common sequence of both. Of very
// long lines none are.
func common(a, b []string) (inA, inB []bool) {
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	if len(a) > maxWords || len(b) > maxWords {
		return inA, inB
	}
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// words cuts a line into names, spaces and single signs.
func words(s string) []string {
	var all []string
	class := func(c byte) int {
		switch {
		case c == ' ' || c == '\t':
			return 1
		case c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80:
			return 2
		}
		return 3
	}
	for i := 0; i < len(s); {
		j := i + 1
		for k := class(s[i]); k != 3 && j < len(s) && class(s[j]) == k; {
			j++
		}
		all = append(all, s[i:j])
		i = j
	}
	return all
}
