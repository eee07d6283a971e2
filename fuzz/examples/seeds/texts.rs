//! Latency logs for `app`, and expressions for `filter`.

use crate::write;
use flate2::Compression;
use std::io::Write;

pub fn write_all() {
    let log = |name: &str, split: u16, text: &str| {
        write(
            "app",
            name,
            &[&split.to_le_bytes(), text.as_bytes()].concat(),
        );
    };
    log(
        "csv",
        0,
        "id,op,offset,len,t_enq_ns,t_issue_ns,t_done_ns,status\n0,WRITE,37167104,8192,1795166662233654921,1795166662233710693,1795166662240235155,8192\n1,READ,33062912,4096,1795166662233654922,,1795166662240220213,4096\n",
    );
    log(
        "csv-latency",
        0,
        "time;latency_ms;op\n1795166662.233654921;1.5;r\n12.5;0x10;\"w\"\nnan;inf;\n",
    );
    log("csv-list", 0, "latency_ms\n4\n");
    log(
        "csv-start",
        0,
        "\u{feff}\"start_ns\",\"end_ns\",op,client\r\n1,0,r,a\r\n2,,w,\"b,c\"\r\n4,9,\"re\"\"ad\",\r\n",
    );
    log(
        "fio",
        0,
        "5, 2000000, 0, 4096\n7, 1000, 1, 8192, 65536, 0\n8, 500, 2, 4096, 12288, 0x2001\n9, 500, 2\n",
    );
    log(
        "fio-epoch",
        47,
        "1795166662234, 1000000, 1, 8192, 65536, 0, 499\n1795166662239, 1000000, 0, 8192, 65536, 0, 499\n",
    );
    let mounts = "device rootfs mounted on / with fstype rootfs\ndevice fs1:/data mounted on /data with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1\n\tage:\t100\n\tper-op statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n\t        READ: 1000 1000 0 1 1 50 900 1000 0\n\n";
    log("mountstats", 0, mounts);
    let later = mounts
        .replace("age:\t100", "age:\t160")
        .replace("READ: 1000 1000", "READ: 1600 1603");
    log(
        "mountstats-two",
        mounts.len() as u16,
        &format!("{mounts}{later}"),
    );
    let headings = "ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms) avg queue (ms) errors";
    log(
        "nfsiostat",
        0,
        &format!(
            "Fri Nov 20\nfs1:/data mounted on /data:\n ops/s rpc bklog\n 13.8 0.0\nread: {headings}\n 13.0 207.3 15.8 1 (0.5%) 4.5 33.5 29.0 2 (1.0%)\nwrite: {headings}\n 0 0 0 0 (0%) 0 0 0 0 (0%)\n"
        ),
    );
    log(
        "nfsiostat-old",
        0,
        "a:/b mounted on /c:\nread:\n ops/s\t kB/s\t kB/op\t retrans\t avg RTT (ms)\t avg exe (ms)\n\t 11.557 \n\t356.081 \n\t 30.812 \n\t 0 (0.0%) \n\t 5.167 \n\t 5.239\n",
    );
    let mut gzip = flate2::write::GzEncoder::new(vec![0, 0], Compression::best());
    gzip.write_all(b"5, 2000000, 0, 4096\n7, 1000, 1, 8192\n")
        .expect("memory");
    write("app", "gzip", &gzip.finish().expect("memory"));

    for (i, text) in [
        "op = READ and response_time > 20ms",
        "not (op=write || OP ~ RE*) && client.port = 700",
        "protocol ~ nfs* and client = 10.0.0.0/8 or server = [fe80::1]:2049",
        "server = fe80::/10 and client ~ 10.0.0.* and client != 10.0.0.1:701",
        "id = 0x4ecb8123 and frames > 12 and request_first_ns >= 1700000000000000000",
        "wait >= 20000us and response_time < 0.03s and response_bytes > 64k and offset = 1M",
        "eof = true and stable ~ FILE* and stable = file_sync and count = 64KiB",
        "file = 0xdeadbeef or file ~ *beef or outcome = 'ok' or outcome != \"no-response\"",
        "operations = PUTFH and text = \"SEQUENCE,PUTFH,READ\" and outstanding <= 3",
        "respnse_time > 5parsecs",
        "security = krb5p or version = 3 or program != 100003 or slot < 0x10",
    ]
    .iter()
    .enumerate()
    {
        write("filter", &i.to_string(), text.as_bytes());
    }
    write("filter", "deep", &[&[b'('; 70][..], b"id=1"].concat());
}
