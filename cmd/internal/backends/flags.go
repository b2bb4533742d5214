package backends

import "github.com/spf13/pflag"

const imageFlag = "image"

// SandboxFlags are the flags that apply to only one sandbox.
type SandboxFlags struct {
	Image string
	Runsc string
}

// Bind registers the flags.
func (o *SandboxFlags) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.Image, imageFlag, "", "`name` of the image for the docker sandbox, instead of the pinned one; it also selects docker")
	f.StringVar(&o.Runsc, "runsc", "", "gVisor's `program`, for the gvisor sandbox, instead of the one on PATH")
}

// Selected returns the sandbox whose own flag was given, or "" if there is none.
func Selected(f *pflag.FlagSet) string {
	for _, k := range kinds {
		if k.flag != "" && f.Changed(k.flag) {
			return k.name
		}
	}
	return ""
}
