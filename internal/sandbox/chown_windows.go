package sandbox

import (
	"io/fs"
	"os"
)

const nonblock = 0

func chownLike(*os.File, fs.FileInfo) {}
