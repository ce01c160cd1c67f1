package browser

import (
	"path/filepath"
	"runtime"
	"slices"
)

// flags lists how Chromium is started. Its whole network is a proxy, one for each
// conversation. What belongs to no conversation has a proxy at which nothing listens.
// Chromium resolves no names, and what cannot use a proxy is off. Without a window it has no
// display.
func flags(dir string, window *Window) []string {
	look := []string{"--headless", "--hide-scrollbars"}
	if window != nil {
		look = window.flags
	}
	return append(slices.Clone(look),
		"--remote-debugging-pipe", "--no-startup-window", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-extensions", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--disable-domain-reliability", "--no-pings",
		"--disable-breakpad", "--disable-crash-reporter", "--disable-client-side-phishing-detection",
		"--disable-gpu", "--disable-dev-shm-usage", "--mute-audio", "--window-size=1280,800",
		"--password-store=basic", "--use-mock-keychain", "--disable-notifications", "--disable-print-preview",
		"--disable-features=MediaRouter,DialMediaRouteProvider,Translate,OptimizationHints,AutofillServerCommunication,"+
			"CertificateTransparencyComponentUpdater,WebUSB,WebBluetooth,AsyncDns,DnsOverHttps,BackForwardCache,"+
			// Each of these is one more process for each conversation.
			"SpareRendererForSitePerProcess,WebUIOmniboxAimPopup,WebUIOmniboxPopup,WebUIOmniboxFullPopup,AiModeOmniboxEntryPoint",
	)
}

// environ lists the variables of Chromium: none of the user's but those of the display, where
// it has a window.
func environ(dir string, window *Window) []string {
	home, tmp := filepath.Join(dir, "home"), filepath.Join(dir, "tmp")
	if runtime.GOOS == "linux" {
		tmp = "/proc/self/cwd/tmp" // the same, and short: the paths of sockets are limited
	}
	vars := []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_RUNTIME_DIR=" + home, "TMPDIR=" + tmp, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"LANG=C.UTF-8", "DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:",
	}
	if window != nil {
		vars = append(vars, window.env...)
	}
	return vars
}
