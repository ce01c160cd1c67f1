package file

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWords is how many different words of a file are looked at to tell its encoding.
const maxWords = 4000

// recognise tells in which encoding with one byte for each character a text is, which is
// not UTF-8. It reads its words in each encoding, and counts those that are words of one
// of the languages that are written in it. unknown is the answer if another text could be
// read with the same right, and if too few words are known: fewer than four of five, or
// for Windows-1252 than three of five. What may be Windows-1252 is taken for it, since it
// is by far the most frequent one.
func recognise(data []byte) encoding {
	words := highWords(data)
	best := reading{as: unknown}
	for i := range tables {
		e := oneByte << i
		score, shown := e.score(words, data)
		best = best.or(reading{e, score, shown})
	}
	enough := 12
	if best.as == windows1252 {
		enough = 9
	}
	if 5*best.score < enough*len(words) || eastern(words, best.as) {
		return unknown
	}
	return best.as
}

// reading is how the words of a text are read.
type reading struct {
	as    encoding // unknown if another one is as good
	score int
	shown string
}

// or chooses the better one of two readings.
func (r reading) or(next reading) reading {
	switch alike := r.as != unknown && r.shown == next.shown; {
	case next.score < r.score || next.score == 0:
	case next.score > r.score:
		return next
	case r.as == windows1252 || alike && r.as.tables()[0].usual:
	case alike && next.as.tables()[0].usual:
		return next
	case alike:
		r.as |= next.as
	default:
		r.as = unknown
	}
	return r
}

// worth is the score of a word of one language. A word in capitals is worth less, since
// capitals and small letters have changed places in other encodings, and so is one of
// another language than the others.
const (
	worth     = 3
	worthLess = 2
)

// highWords collects the different words of a text that have bytes beyond ASCII.
func highWords(data []byte) (words [][]byte) {
	seen := map[string]bool{}
	inWord := func(c byte) bool { return c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) }
	for i := 0; i < len(data) && len(words) < maxWords; i++ {
		begin := i
		high := false
		for ; i < len(data) && inWord(data[i]); i++ {
			high = high || data[i] >= utf8.RuneSelf
		}
		if word := data[begin:i]; high && !seen[string(word)] {
			seen[string(word)] = true
			words = append(words, word)
		}
	}
	return words
}

// score counts how many words are words in an encoding, and shows all of them in it.
func (e encoding) score(words [][]byte, data []byte) (score int, shown string) {
	chars := e.tables()[0].chars
	var b strings.Builder
	for _, word := range words {
		for _, c := range word {
			if e != windows1252 && chars.DecodeByte(c) == utf8.RuneError {
				return 0, ""
			}
			b.WriteRune(e.character(c))
		}
	}
	quoted := e.quoted(data)
	known := strings.Fields(e.tables()[0].languages)
	tallies := make([]tally, len(known))
	some := 0
	for _, word := range words {
		parts, ok := e.parts(word, quoted)
		if !ok || utf8.Valid(word) {
			continue
		}
		best := 0
		for i, name := range known {
			best = max(best, tallies[i].add(parts, languages[name]))
		}
		some += min(best, worthLess)
	}
	for i, name := range known {
		if e != windows1252 && tallies[i].long == 0 { // two letters do not prove a rare encoding
			tallies[i].points = 0
		}
		score = max(score, tallies[i].score(languages[name]))
	}
	if e == windows1252 { // the names of people in all languages of the west
		score = max(score, some)
	}
	return score, b.String()
}

// tally is how much of a text is in a language.
type tally struct{ points, letters, common, long int }

// add counts a word, whose parts are apart by punctuation. It is worth nothing if one of
// them is not of the language.
func (t *tally) add(parts [][]rune, l language) int {
	points, now := worth, *t
	if !slices.ContainsFunc(parts, func(part []rune) bool { return !ascii(part) }) {
		points = worthLess
	}
	for _, part := range parts {
		ok, capitals := cased(part)
		if capitals {
			points = worthLess
		}
		small := make([]rune, len(part))
		for i, r := range part {
			small[i] = lower(r)
		}
		if !ascii(part) && (!ok || !l.has(small)) {
			return 0
		}
		if ascii(part) {
			continue
		}
		now.letters += len(small)
		if len(small) > 2 {
			now.long++
		}
		for _, r := range small {
			if strings.ContainsRune(l.common, r) {
				now.common++
			}
		}
	}
	*t = now
	t.points += points
	return points
}

// score is what the words of a language are worth.
func (t *tally) score(l language) int {
	if l.common != "" && 100*t.common <= max(l.share, 34)*t.letters {
		return 0
	}
	if l.rare {
		return t.points - 1
	}
	return t.points
}

func ascii(word []rune) bool {
	return !slices.ContainsFunc(word, func(r rune) bool { return r >= 0x80 })
}

const (
	joining = "‘’–—·\u00a0\u00ad" // stands anywhere
	leading = "¿¡£§©µ±†‡"         // behind no letter
	closing = "²³ªº°®™‰¢"         // before no letter
	beside  = "“”„‚…•‹›€¥×÷¬"     // not between letters
	quoting = "«»"                // likewise, in pairs
)

// quoted reports whether quotation marks of an encoding come in pairs.
func (e encoding) quoted(data []byte) bool {
	count := map[rune]int{}
	for _, c := range data {
		if c >= utf8.RuneSelf {
			count[e.character(c)]++
		}
	}
	return count['«'] == count['»']
}

// parts splits a word into its letters, without the punctuation beside and between them.
// It is false if the punctuation stands where it does not stand in texts.
func (e encoding) parts(word []byte, quoted bool) (parts [][]rune, ok bool) {
	text := make([]rune, len(word))
	for i, c := range word {
		text[i] = e.character(c)
	}
	letter := func(i int) bool { return i >= 0 && i < len(text) && unicode.In(text[i], unicode.L, unicode.M) }
	begin := 0
	for i, r := range text {
		switch {
		case letter(i) && !strings.ContainsRune("ªºµ", r):
			continue
		case !stands(r, letter(i-1), letter(i+1), quoted):
			return nil, false
		}
		if i > begin {
			parts = append(parts, text[begin:i])
		}
		begin = i + 1
	}
	if begin < len(text) {
		parts = append(parts, text[begin:])
	}
	return parts, true
}

// stands reports whether punctuation can stand behind a letter, or before one.
func stands(r rune, before, after, quoted bool) bool {
	in := func(set string) bool { return strings.ContainsRune(set, r) }
	switch {
	case !before && !after:
		return !unicode.IsControl(r)
	case in(joining):
		return true
	case in(leading):
		return !before
	case in(closing):
		return !after
	case in(beside), in(quoting) && quoted:
		return !before || !after
	}
	return false
}

// eastern reports whether words without Latin letters are rather the frequent characters
// of Chinese, Japanese or Korean, which have two bytes.
func eastern(words [][]byte, e encoding) bool {
	if e == unknown || languages[strings.Fields(e.tables()[0].languages)[0]].common == "" {
		return false
	}
	usual, all := 0, 0
	for _, word := range words {
		for i := 0; i < len(word); i++ {
			lead := word[i]
			if lead < utf8.RuneSelf {
				continue
			}
			i++
			if i == len(word) || word[i] < 0x40 {
				return false
			}
			all++
			if lead >= 0xa1 && lead <= 0xa9 || lead >= 0xb0 && lead <= 0xd7 {
				usual++
			}
		}
	}
	return 5*usual >= 4*all
}
