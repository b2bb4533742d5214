for name in ["mem", "kmem", "port", "kmsg", "sda", "vda", "nvme0n1", "xvda", "loop0", "loop-control", "dm-0", "mapper/control", "kvm", "fuse", "net/tun", "vhost-net", "vhost-vsock", "vsock", "uinput", "input/event0", "snapshot", "nvram", "rtc0", "watchdog", "dri/card0", "snd/seq", "console", "tty0", "tty1", "ttyS0", "hpet", "cpu/0/msr", "btrfs-control", "userfaultfd", "uhid", "ppp", "autofs", "cuse", "ashmem", "binder"]:
    for mode in (os.O_RDONLY, os.O_RDWR):
        attempt("/dev/" + name, lambda: os.close(os.open("/dev/" + name, mode | os.O_NONBLOCK)))
print("checked")
