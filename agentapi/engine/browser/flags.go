package browser

import (
	"path/filepath"
	"runtime"
)

// flags lists how Chromium is started. Its whole network is a proxy, one for each
// conversation. What belongs to no conversation has a proxy at which nothing listens.
// Chromium resolves no names, and what cannot use a proxy is off.
func flags(dir string) []string {
	return []string{
		"--headless", "--remote-debugging-pipe", "--no-startup-window", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-extensions", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--disable-domain-reliability", "--no-pings",
		"--disable-breakpad", "--disable-crash-reporter", "--disable-client-side-phishing-detection",
		"--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars", "--window-size=1280,800",
		"--password-store=basic", "--use-mock-keychain", "--disable-notifications", "--disable-print-preview",
		"--disable-features=MediaRouter,DialMediaRouteProvider,Translate,OptimizationHints,AutofillServerCommunication," +
			"CertificateTransparencyComponentUpdater,WebUSB,WebBluetooth,AsyncDns,DnsOverHttps,BackForwardCache," +
			// Each of these is one more process for each conversation.
			"SpareRendererForSitePerProcess,WebUIOmniboxAimPopup,WebUIOmniboxPopup,WebUIOmniboxFullPopup,AiModeOmniboxEntryPoint",
	}
}

// environ are the variables of Chromium: none of the user's.
func environ(dir string) []string {
	home, tmp := filepath.Join(dir, "home"), filepath.Join(dir, "tmp")
	if runtime.GOOS == "linux" {
		tmp = "/proc/self/cwd/tmp" // the same, and short: the paths of sockets are limited
	}
	return []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_RUNTIME_DIR=" + home, "TMPDIR=" + tmp, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"LANG=C.UTF-8", "DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:",
	}
}
