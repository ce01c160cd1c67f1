package inside

import "testing"

func TestNamesOfOtherMachinesAreLeftToTheResolver(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"127.0.0.1 localhost\n::1\tlocalhost ip6-localhost # the usual\n":     "127.0.0.1\tlocalhost\n::1\tlocalhost\tip6-localhost\n",
		"127.0.1.1 Box.example.org box\r\n":                                   "127.0.1.1\tBox.example.org\tbox\n",
		"10.1.2.3 git.corp git\n203.0.113.7 api.example.com\n2001:db8::1 six": "",
		"172.17.0.2 box":                                                  "127.0.0.1\tbox\n",
		"192.168.1.5 BOX.lan box db.lan\n":                                "127.0.0.1\tBOX.lan\tbox\tdb.lan\n",
		"0:0:0:0:0:0:0:1 long\n1::1 six\n::2 two\n224.0.0.1 all\n":        "0:0:0:0:0:0:0:1\tlong\n224.0.0.1\tall\n",
		"0.0.0.0 ads.example\n":                                           "",
		"ff02::1 ip6-allnodes\nfe80::1%lo0 x":                             "ff02::1\tip6-allnodes\n",
		"# 127.0.0.1 off\n127.0.0.1\n\nnot an address\n127.0.0.1 db.test": "127.0.0.1\tdb.test\n",
		"": "",
	} {
		if got := ownNames(text, "box"); got != want {
			t.Errorf("%q: names = %q, want %q", text, got, want)
		}
	}
	if got := ownNames("10.0.0.1 \n10.0.0.2 x", ""); got != "" {
		t.Errorf("without a name of this machine: %q", got)
	}
}
