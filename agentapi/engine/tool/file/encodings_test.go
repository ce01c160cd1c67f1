package file_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"github.com/ohgw/ohgw/agentapi/engine/tool/file"
)

// Texts in all encodings with one byte for each character that are usual somewhere. What
// is named is shown as it was written, and what is written after that is readable in the
// encoding of the file: where a text may be in two encodings, only what both have.
func TestTextsOfManyLanguagesAreNamedAndNeverMixed(t *testing.T) {
	t.Parallel()
	const untold = "cannot be told"
	central := map[*charmap.Charmap]string{charmap.Windows1250: "Windows-1250", charmap.ISO8859_2: "ISO-8859-2"}
	either := map[*charmap.Charmap]string{charmap.Windows1250: "Windows-1250 or ISO-8859-2", charmap.ISO8859_2: "Windows-1250 or ISO-8859-2"}
	cyrillic := map[*charmap.Charmap]string{
		charmap.Windows1251: "Windows-1251", charmap.KOI8R: "KOI8-R or KOI8-U", charmap.KOI8U: "KOI8-R or KOI8-U",
		charmap.ISO8859_5: "ISO-8859-5", charmap.CodePage866: "code page 866",
	}
	western := map[*charmap.Charmap]string{charmap.Windows1252: "Windows-1252", charmap.ISO8859_1: "Windows-1252", charmap.ISO8859_15: "Windows-1252"}
	turkish := map[*charmap.Charmap]string{charmap.Windows1254: "Windows-1254", charmap.ISO8859_9: "Windows-1254"}
	greek := map[*charmap.Charmap]string{charmap.Windows1253: "Windows-1253 or ISO-8859-7", charmap.ISO8859_7: "Windows-1253 or ISO-8859-7"}
	hebrew := map[*charmap.Charmap]string{charmap.Windows1255: "Windows-1255 or ISO-8859-8", charmap.ISO8859_8: "Windows-1255 or ISO-8859-8"}
	baltic := map[*charmap.Charmap]string{
		charmap.Windows1257: "Windows-1257 or ISO-8859-13", charmap.ISO8859_13: "Windows-1257 or ISO-8859-13",
	}
	only := func(c *charmap.Charmap, name string) map[*charmap.Charmap]string {
		return map[*charmap.Charmap]string{c: name}
	}
	for text, named := range map[string]map[*charmap.Charmap]string{
		"# wczytuje dane z pliku i zwraca listę wyników": either,
		"x = 1  # długość ścieżki":                       central,
		"Zażółć gęślą jaźń":                              central,
		"# načte data ze souboru a vrátí seznam":         either,
		"Příliš žluťoučký kůň úpěl ďábelské ódy":         central,
		"Chyba: súbor sa nedá otvoriť":                   central,
		"a szöveg hossza betűkben, előbb":                either,
		"lungimea şirului în caractere, aţi văzut":       either,
		"dolžina niza, znaš še več":                      {charmap.Windows1250: "Windows-1250", charmap.ISO8859_2: "ISO-8859-2 or ISO-8859-4"},
		"# считает строки":                               cyrillic,
		"Ошибка: не удалось открыть файл":                cyrillic,
		"ОШИБКА":     {charmap.Windows1251: untold, charmap.KOI8R: untold},
		"x = 1 # да": {charmap.Windows1251: untold, charmap.KOI8R: untold},
		"# читає дані з файлу і повертає список":            {charmap.Windows1251: "Windows-1251", charmap.KOI8U: "KOI8-U", charmap.ISO8859_5: "ISO-8859-5"},
		"# lit les données du fichier et renvoie la liste":  western,
		"L'été à Noël, déjà":                                western,
		"ma sœur, l'œuvre":                                  {charmap.Windows1252: "Windows-1252", charmap.ISO8859_15: "ISO-8859-15"},
		"© 2020 Müller, 5 °C, ±3 µs, 1 m²":                  western,
		"a naïve façade, a café, jalapeños":                 western,
		"setGröße(breite) // Größe, GRÖSSE, Straße":         western,
		"größer als für, Übergröße":                         western,
		"¿dónde está el año? «Sí»":                          western,
		"informações e ações, não é possível":               western,
		"José, Müller, François, Åse, Peña, Gödel":          western,
		"# läser data från filen, Räksmörgås":               western,
		"Þetta er íslenska, þú ert góður maður":             western,
		"ný þýðing, það er gott":                            western,
		"Føroyar eru ein oyggjabólkur, í landi":             western,
		"Καλημέρα κόσμε":                                    greek,
		"x = 1 # μήκος":                                     greek,
		"# διαβάζει τα δεδομένα από το αρχείο":              greek,
		"# dosyadan verileri okur ve sonuç döndürür, satır": turkish,
		"Hata: dosya açılamadı, lütfen yeniden deneyin":     turkish,
		"Pijamalı hasta yağız şoföre çabucak güvendi":       turkish,
		"şu anda çalışıyor":                                 turkish,
		"İstanbul'da kış":                                   turkish,
		"satır sayısı":                                      turkish,
		"kullanıcı adı":                                     turkish,
		"ağaç":                                              {charmap.Windows1254: untold, charmap.ISO8859_9: untold},
		"שגיאה: לא ניתן לפתוח את הקובץ":                     hebrew,
		"x = 1 # אורך הרשימה":                               hebrew,
		"خطأ: لا يمكن فتح الملف":                            {charmap.Windows1256: untold, charmap.ISO8859_6: untold},
		"مرحبا بالعالم":                                     {charmap.Windows1256: "Windows-1256", charmap.ISO8859_6: untold},
		"x = 1 # طول القائمة":                               {charmap.Windows1256: untold, charmap.ISO8859_6: untold},
		"# nuskaito duomenis iš failo ir grąžina sąrašą":    baltic,
		"Kļūda: nevar atvērt failu, lūdzu mēģiniet":         baltic,
		"garums zīmēs, šķīvis":                              only(charmap.ISO8859_4, "ISO-8859-4"),
		"mae'r tŷ a'r dŵr yn y tŵr, sŵn ŷd":                 only(charmap.ISO8859_14, "ISO-8859-14"),
		"eĥoŝanĝo ĉiuĵaŭde, ĝi estas ĉi tie":                only(charmap.ISO8859_3, "ISO-8859-3"),
		"สวัสดีชาวโลก":                                      only(charmap.Windows874, untold),
	} {
		for chars, name := range named {
			t.Run(chars.String()+"/"+text, func(t *testing.T) {
				t.Parallel()
				before, err := chars.NewEncoder().String(text + "\n")
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				path := filepath.Join(dir, "a.txt")
				write(t, path, before)
				e := editor(t, file.Config{Dir: dir})
				view := run(t, e, args{"command": "view", "path": path})
				if !strings.Contains(view.Text, name+")") && (name != untold || !strings.Contains(view.Text, name)) {
					t.Errorf("it is not named %q: %s", name, view.Text)
				}
				if name != untold && !strings.Contains(view.Text, text) {
					t.Errorf("it is misread: %s", view.Text)
				}
				neverMixed(t, e, path, chars)
			})
		}
	}
}

// neverMixed inserts characters of all languages: each is in the encoding of the file
// afterwards, or nothing is changed.
func neverMixed(t *testing.T, e *file.Editor, path string, chars *charmap.Charmap) {
	t.Helper()
	for _, r := range "éłşžŠµąőßďñИяωάשمűğ”—€™" {
		before := content(t, path)
		if latin := chars == charmap.ISO8859_1 || chars == charmap.ISO8859_15 || chars == charmap.ISO8859_9; latin && strings.ContainsRune("žŠ”—€™", r) {
			continue // it is read as Windows-1252 or -1254, which have these in place of controls
		}
		got := run(t, e, args{"command": "insert", "path": path, "insert_line": 1, "new_str": "x" + string(r)})
		now := content(t, path)
		if got.IsError {
			if now != before {
				t.Errorf("%c was refused, and the file is %q", r, now)
			}
			continue
		}
		if text, err := chars.NewDecoder().String(now); err != nil || !strings.Contains(text, "x"+string(r)+"\n") {
			t.Errorf("%c was written as another character: %q", r, text)
		}
	}
}
