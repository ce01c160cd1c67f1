package file

import (
	"strings"
	"unicode"
)

// language is what tells words of a language from the same bytes in another encoding.
type language struct {
	letters string // beyond ASCII, in lower case
	without string // letters of ASCII that words with the former do not have
	// common are the most frequent letters of an alphabet without Latin letters: more than
	// share percent of the letters of a text, or than a third.
	common string
	share  int
	rare   bool   // another language that fits as well is more likely
	late   string // not the first letter of a word
	last   string // only the last letter
	// odd reports more of what no word of the language is.
	odd func(word []rune) bool
}

const (
	latinVowels = "aeiouyàáâãäåæèéêëìíîïòóôõöøœùúûüýÿąęėįųūāēīőűăıůěŵŷŭ"
	otherVowels = "аеиоуыэюяёіїєъјαεηιουωάέήίόύώϊϋΐΰ"
)

var languages = map[string]language{
	"de": {letters: "äöüß", late: "ß"},
	"fr": {letters: "àâæçéèêëîïôœùûüÿ", without: "w"},
	"es": {letters: "áéíóúüñ", without: "kw"},
	"pt": {letters: "áâãàçéêíóôõúü", without: "kwy"},
	"it": {letters: "àèéìòùî", without: "jkwxy"},
	"nl": {letters: "éëïöüèó"},
	"sv": {letters: "åäöé"}, // and Finnish
	"da": {letters: "æøåéó"},
	"is": {letters: "áðéíóúýþæö", without: "cqwz", late: "ð", odd: notIcelandic},
	"fo": {letters: "áðíóúýæø", without: "cqwxz", late: "ð", odd: notIcelandic},
	"ca": {letters: "àçéèíïóòúü", without: "kwy"},
	"et": {letters: "äöõüšž", without: "cqwxy"},
	"ga": {letters: "áéíóú", without: "jkqwxyz"},
	"sq": {letters: "ëç", without: "w"},
	"pl": {letters: "ąćęłńóśźż", without: "qvx"},
	"cs": {letters: "áčďéěíňóřšťúůýž", without: "qw", odd: notCzech},
	"sk": {letters: "áäčďéíĺľňóôšťúýž", without: "qw", odd: notCzech},
	"hu": {letters: "áéíóöőúüű", without: "qw"},
	"hr": {letters: "čćđšž", without: "qwxy"}, // and Slovene
	"ro": {letters: "ăâîşţ", without: "qwy"},
	"tr": {letters: "çğıöşüâîû", without: "qwx", late: "ğ", odd: notTurkish},
	"lt": {letters: "ąčęėįšųūž", without: "qwx"},
	"lv": {letters: "āčēģīķļņšūž", without: "qwxy"},
	"mt": {letters: "ċġħż", rare: true},
	"eo": {letters: "ĉĝĥĵŝŭ", without: "qwxy", rare: true},
	"cy": {letters: "âêîôûŵŷ", without: "kqvxz"},
	"ru": {letters: "абвгдеёжзийклмнопрстуфхцчшщъыьэюя", common: "оеаинтсрвл", late: "ъыь", odd: notRussian},
	"uk": {letters: "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя", common: "оаиінтервсл", late: "ь", odd: notSlavic},
	"bg": {letters: "абвгдежзийклмнопрстуфхцчшщъьюя", common: "аеоинтсрвъ", late: "ь", odd: notSlavic},
	"sr": {letters: "абвгдђежзијклљмнњопрстћуфхцчџш", common: "аоеинрјтсу"},
	"el": {letters: "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώϊϋΐΰς", common: "αοιετσνηρκςό", last: "ς", odd: notGreek},
	"he": {letters: "אבגדהוזחטיכלמנסעפצקרשתךםןףץ", common: "יוהלאתרבמש", last: "ךםןףץ"},
	"th": {letters: "กขคฆงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรฤลวศษสหฬอฮะัาำิีึืุูเแโใไๅ็่้๊๋์", common: "านรกอเงวมย่้", late: "ะัาำิีึืุู็่้๊๋์"},
	"ar": {letters: "ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءآأؤإئ", common: "اليمونترهب", share: 60},
}

// notIcelandic knows ð, þ and ý of Icelandic and Faroese, which are ğ, ş and ı in Turkish.
func notIcelandic(word []rune) bool {
	end := len(word) - 1
	for i, r := range word {
		switch {
		case r == 'þ' && i > 0 && (i == end || word[i-1] != 'í' && word[i-1] != 'l' && word[i-1] != 'r'):
			return true
		case r == 'ý' && i == end && i > 3: // ný, ský
			return true
		case r == 'ð' && word[i-1] == 'ð', r == 'ø' && i < end && word[i+1] == 'í':
			return true
		}
	}
	return false
}

// notTurkish knows that ğ is behind a vowel and that few words begin with two consonants.
func notTurkish(word []rune) bool {
	for i, r := range word {
		if r == 'ğ' && !isVowel(word[i-1]) {
			return true
		}
	}
	return len(word) > 2 && !isVowel(word[0]) && !isVowel(word[1])
}

// notCzech knows that two ý are in words that begin like výborný, which ı are not.
func notCzech(word []rune) bool {
	count := 0
	for _, r := range word {
		if r == 'ý' {
			count++
		}
	}
	return count > 1 && word[1] != 'ý'
}

// notRussian knows what is behind ъ.
func notRussian(word []rune) bool {
	for i, r := range word {
		if r == 'ъ' && (i+1 == len(word) || !strings.ContainsRune("еёюя", word[i+1])) {
			return true
		}
	}
	return notSlavic(word)
}

// notSlavic knows what is around й and щ.
func notSlavic(word []rune) bool {
	for i, r := range word {
		var next rune
		if i+1 < len(word) {
			next = word[i+1]
		}
		switch {
		case r == 'й' && i > 0 && !isVowel(word[i-1]):
			return true
		case r == 'щ' && next != 0 && !isVowel(next) && !strings.ContainsRune("ньр", next):
			return true
		}
	}
	return false
}

// notGreek knows that a word of more than a syllable has an accent.
func notGreek(word []rune) bool {
	return len(word) > 3 && !strings.ContainsAny(string(word), "άέήίόύώΐΰ")
}

func isVowel(r rune) bool {
	return strings.ContainsRune(latinVowels, r) || strings.ContainsRune(otherVowels, r)
}

// lower is the small letter of an encoding: İ has none in Unicode that is one character.
func lower(r rune) rune {
	if r == 'İ' {
		return 'i'
	}
	return unicode.ToLower(r)
}

// cased reports whether the letters beyond ASCII of a word are capitals where words have
// them: at the beginning, or everywhere. Names in programs have capitals of ASCII anywhere.
func cased(word []rune) (ok, capitals bool) {
	small, large, late := 0, 0, false
	for i, r := range word {
		switch {
		case unicode.IsUpper(r):
			large++
			late = late || i > 0 && r >= 0x80
		case unicode.IsLower(r) && r != 'ß':
			small++
		}
	}
	return !late || small == 0, large > 1 && small == 0
}

// has reports whether a word in small letters can be one of the language.
func (l language) has(word []rune) bool {
	end, vowels := len(word)-1, 0
	for i, r := range word {
		switch {
		case r < 0x80:
			if l.common != "" || strings.ContainsRune(l.without, r) {
				return false
			}
		case !strings.ContainsRune(l.letters, r):
			return false
		}
		if i == 0 && strings.ContainsRune(l.late, r) || i < end && strings.ContainsRune(l.last, r) {
			return false
		}
		if isVowel(r) || unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Thai) {
			vowels++
		}
	}
	return (vowels > 0 || len(word) < 3) && (l.odd == nil || !l.odd(word))
}
