// Package acl lets one more user write to a folder without changing who owns it. A backend that was started by root
// runs its guests as an unprivileged user, which has to write to a workspace that root made. Start with [Grant]. It
// changes only the folder it is given, follows no link in it, and never removes a permission. [Reads] checks what such a
// user may read.
package acl

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// The kernel's form of an access control list, as in the extended attributes system.posix_acl_access and
// system.posix_acl_default (linux/posix_acl_xattr.h): a version, then entries of 8 bytes, little endian.
const (
	version   = 2
	entrySize = 8

	tagUserObj  = 0x01
	tagUser     = 0x02
	tagGroupObj = 0x04
	tagGroup    = 0x08
	tagMask     = 0x10
	tagOther    = 0x20

	noID = 0xffffffff
	rwx  = 7
)

type entry struct {
	tag, perm uint16
	id        uint32
}

// list is an access control list; the kernel wants it sorted by tag and id.
type list []entry

// fromMode returns the list that is equivalent to the permission bits of mode.
func fromMode(mode uint32) list {
	return list{
		{tagUserObj, uint16(mode >> 6 & rwx), noID},
		{tagGroupObj, uint16(mode >> 3 & rwx), noID},
		{tagOther, uint16(mode & rwx), noID},
	}
}

func parse(b []byte) (list, error) {
	if len(b) < 4 || (len(b)-4)%entrySize != 0 || binary.LittleEndian.Uint32(b) != version {
		return nil, errors.New("access control list of an unknown form")
	}
	var l list
	for b = b[4:]; len(b) > 0; b = b[entrySize:] {
		l = append(l, entry{
			tag:  binary.LittleEndian.Uint16(b),
			perm: binary.LittleEndian.Uint16(b[2:]),
			id:   binary.LittleEndian.Uint32(b[4:]),
		})
	}
	return l, nil
}

func (l list) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, version)
	for _, e := range l {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

// allows reports whether l itself gives the user id all permissions.
func (l list) allows(id uint32) bool { return l.given(id) == rwx }

// given returns the permissions that l itself gives the user id.
func (l list) given(id uint32) uint16 {
	mask, named := uint16(rwx), uint16(0)
	for _, e := range l {
		switch {
		case e.tag == tagMask:
			mask = e.perm
		case e.tag == tagUser && e.id == id:
			named = e.perm
		}
	}
	return named & mask
}

// with returns l with every permission for the user id. The mask, which bounds all entries but the owner's and the others', becomes the
// union of the entries that it bounds. Since only the new entry may gain permissions, the other entries of a list with a mask are first
// reduced to their effective permissions. A list without a mask did not bound them.
func (l list) with(id uint32) list {
	mask := uint16(rwx)
	for _, e := range l {
		if e.tag == tagMask {
			mask = e.perm
		}
	}
	var out list
	for _, e := range l {
		switch {
		case e.tag == tagMask, e.tag == tagUser && e.id == id:
			continue
		case e.tag == tagUser, e.tag == tagGroup, e.tag == tagGroupObj:
			e.perm &= mask
		}
		out = append(out, e)
	}
	out = append(out, entry{tagUser, rwx, id}, entry{tagMask, rwx, noID})
	slices.SortFunc(out, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.id, b.id))
	})
	return out
}
