package config

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Cache is the key cache of mcpgen.yaml: which results of calls are kept, and for how long.
type Cache struct {
	// TTL is how long results of tools are kept that Tools leaves out. Nil: [DefaultCacheTTL]. 0: they are not kept.
	TTL *CacheTime
	// Size is what the results of one customer may take, as a size. Empty: [DefaultCacheSize].
	Size string
	// Tools says it for tools, in the order of the file. The first entry that matches a tool counts.
	Tools CacheTools
}

// Defaults of ttl and size.
const (
	DefaultCacheTTL  = 5 * time.Minute
	DefaultCacheSize = 64 << 20
	minCacheSize     = 1 << 20
)

// cacheOff is the value of a time with which results are not kept.
const cacheOff = "off"

// CacheTime is how long results are kept. 0: they are not kept.
type CacheTime time.Duration

// UnmarshalYAML reads a time, or off.
func (t *CacheTime) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == cacheOff {
		*t = 0
		return nil
	}
	return n.Decode((*time.Duration)(t))
}

// CacheTools are times for tools.
type CacheTools []CacheTool

// CacheTool is a time for the tools whose ids match a glob, such as drive__get_*.
type CacheTool struct {
	Tool string
	TTL  CacheTime
}

// UnmarshalYAML reads a mapping from globs to times.
func (t *CacheTools) UnmarshalYAML(n *yaml.Node) error {
	for key, value := range node.Pairs(n) {
		one := CacheTool{Tool: key.Value}
		if err := value.Decode(&one.TTL); err != nil {
			return err
		}
		*t = append(*t, one)
	}
	return nil
}

// For returns how long results of a tool are kept, by its id. 0: they are not. A nil Cache keeps nothing.
func (c *Cache) For(tool string) time.Duration {
	if c == nil {
		return 0
	}
	for _, one := range c.Tools {
		if MatchGlob(one.Tool, tool) {
			return time.Duration(one.TTL)
		}
	}
	if c.TTL != nil {
		return time.Duration(*c.TTL)
	}
	return DefaultCacheTTL
}

// Bytes returns Size in bytes.
func (c *Cache) Bytes() int64 {
	if c.Size == "" {
		return DefaultCacheSize
	}
	bytes, _ := ParseSize(c.Size) // completeCache has checked it
	return bytes
}

// completeCache makes the checks that the schema cannot make. The key means something without a value, too.
func (s *Settings) completeCache(file *node.File, n *yaml.Node) error {
	if n == nil {
		return nil
	}
	if s.Cache == nil {
		s.Cache = &Cache{}
	}
	if size := node.Value(n, "size"); size != nil {
		if bytes, err := ParseSize(s.Cache.Size); err != nil || bytes < minCacheSize {
			return file.ErrorAt(size.Line, "cache.size", fmt.Sprintf("%q is not a size of at least 1MiB", s.Cache.Size), "write it as 64MiB")
		}
	}
	return nil
}
