//go:build !linux

package docker

func oomLogged(string) bool { return false }
