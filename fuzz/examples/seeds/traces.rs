//! Traces for `oracle_trace` and `sqlnet_trace`, a line of each kind in them.

use crate::write;

pub const EXTENDED: &str = "Trace file /u01/x_ora_1.trc
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
System name:\tLinux
Node name:\tdb1
Instance name: x
Unix process pid: 1, image: oracle@db1
*** 2023-05-19T05:28:00.339263+02:00 (PDB(11))
*** SESSION ID:(2773.37935) 2023-05-19T05:28:00.339309+02:00
*** MODULE NAME:(perl@a (TNS V1-V3)) 2023-05-19T05:28:00.339325+02:00
=====================
PARSING IN CURSOR #7 len=35 dep=0 uid=1 oct=3 lid=1 tim=100 hv=4 ad='b3' sqlid='x'
select a from t where b in (1,'x')
END OF STMT
PARSE #7:c=30,e=33,p=0,cr=0,cu=0,mis=1,r=0,dep=0,og=1,plh=27,tim=101
BINDS #7:
 Bind#0
  oacdty=02 mxl=22(22)
  value=111242892
PARSING IN CURSOR #8 len=8 dep=1 uid=1 oct=3 lid=1 tim=110 hv=4 ad='b4' sqlid='y'
select 1
END OF STMT
EXEC #8:c=5,e=8,p=0,cr=0,cu=0,mis=0,r=0,dep=1,og=1,plh=27,tim=120
WAIT #7: nam='db file sequential read' ela= 3 file#=4 block#=20 blocks=1 obj#=8 tim=125
EXEC #7:c=7,e=30,p=1,cr=4,cu=0,mis=0,r=1,dep=0,og=1,plh=27,tim=131
WAIT #7: nam='SQL*Net message to client' ela= 2 driver id=675562835 #bytes=1 p3=0 obj#=8 tim=132
FETCH #7:c=4,e=5,p=0,cr=1,cu=0,mis=0,r=10,dep=0,og=1,plh=27,tim=137
WAIT #7: nam='SQL*Net message from client' ela= 186 driver id=675562835 #bytes=1 p3=0 obj#=8 tim=330
STAT #7 id=1 cnt=14 pid=0 pos=1 obj=89440 op='INDEX RANGE SCAN X (cr=5 pr=1 pw=0 str=1 time=439 us)'
CLOSE #7:c=3,e=3,dep=0,type=0,tim=340
PARSE ERROR #9:len=14 dep=1 uid=1 oct=3 lid=1 tim=341 err=942
select nothing
ERROR #7:err=27403 tim=350
LOBREAD: type=PERSISTENT LOB,bytes=9,c=1,e=2,p=0,cr=0,cu=0,tim=360
NSMTIO: qertbFetch:NoDirectRead:[- STT < OBJECT_SIZE < MTT]:Obect's size: 10617 (blocks)
 (overflow) 8057 bytes sent via fast-path
 152 bytes received via SQL*Net
XCTEND rlbk=0, rd_only=1, tim=370
";

const OLD: &str = "Oracle9i Enterprise Edition Release 9.2.0.8.0 - Production
System name: Linux
*** 2005-03-01 12:00:00.000
PARSING IN CURSOR #1 len=8 dep=0 uid=1 oct=3 lid=1 tim=100 hv=4 ad='b3'
select 1
END OF STMT
EXEC #1:c=0,e=1,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim=1000
WAIT #1: nam='db file scattered read' ela= 9 p1=1 p2=1 p3=8
WAIT #1: nam='SQL*Net message from client' ela= 9765625 p1=1 p2=1 p3=0
*** 2005-03-01 12:00:10.003
FETCH #1:c=0,e=1,p=0,cr=0,cu=0,mis=0,r=1,dep=0,og=4,tim=9766625
";

pub const SERVER: &str = "[03-FEB-2014 10:56:17:929] New trace level is 16
[03-FEB-2014 10:56:17:934] niotns:  listener bequeathed shadow coming to life...
[03-FEB-2014 10:56:17:935] nsopen: lcl[0]=0xf4ffe9ff, gbl[1]=0x0, tdu=65535, sdu=8192
[03-FEB-2014 10:56:17:935] nsinh_hoff: ADR=\"(ADDRESS=(PROTOCOL=tcp)(DEV=17)(HOST=192.168.1.51)(PORT=1521))\"
[03-FEB-2014 10:56:17:936] nttcon: set TCP_NODELAY on 17
[03-FEB-2014 10:56:17:936] nsprecv: reading from transport...
[03-FEB-2014 10:56:17:936] nttrd: socket 17 had bytes read=60
[03-FEB-2014 10:56:17:936] nsprecv: tlen=60, plen=60, type=1
[03-FEB-2014 10:56:17:936] nsprecv: packet dump
[03-FEB-2014 10:56:17:936] nsprecv: 00 3C 00 00 01 00 28 44  |......(D|
[03-FEB-2014 10:56:17:936] nsprecv: 45 53 43 52 49 50 54 49  |ESCRIPTI|
[03-FEB-2014 10:56:17:936] nsprecv: 4F 4E 3D 28 50 41 53 53  |ON=(PASS|
[03-FEB-2014 10:56:17:937] nscon: got NSPTCN packet
[03-FEB-2014 10:56:17:937] nsconneg: vsn=314, gbl=0xc41, sdu=8192, tdu=65535
[03-FEB-2014 10:56:17:937] nscon: sending NSPTAC packet
[03-FEB-2014 10:56:17:937] nspsend: plen=32, type=2
[03-FEB-2014 10:56:17:937] nttwr: socket 17 had bytes written=32
[03-FEB-2014 10:56:17:938] nserror: nsres: id=0, op=68, ns=12537, ns2=12560; nt[0]=507
";

pub const CLIENT: &str = "(2100) [11-MAR-2019 07:04:24:529] nsbasic_bsd: tot=0, plen=37.\r
(2100) [11-MAR-2019 07:04:24:530] nttfpwr: socket 1644 had bytes written=37\r
(2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: 00 25 00 00 06 00 00 00  |.%......|\r
(2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: 00 00 03 5E 05 04 03 02  |........|\r
(2100) [11-MAR-2019 07:04:24:530] nsbasic_brc: entry: oln/tot=0\r
(2100) [11-MAR-2019 07:04:24:542] nttfprd: socket 1644 had bytes read=298\r
(2100) [11-MAR-2019 07:04:24:542] nsbasic_brc: type=6, plen=298\r
2014-11-15 16:12:24.300524 : nscon:sending NSPTRF packet
nsc2addr: (DESCRIPTION=(CONNECT_DATA=(SID=X)(PASSWORD=y)))
nscon: got NSPTMK packet
";

pub fn write_all() {
    let trace = |target: &str, name: &str, unit: u8, text: &str| {
        write(target, name, &[&[unit], text.as_bytes()].concat());
    };
    trace("oracle_trace", "19c", 0, EXTENDED);
    trace("oracle_trace", "9i", 2, OLD);
    trace(
        "oracle_trace",
        "together",
        1,
        &[EXTENDED, SERVER, OLD].concat(),
    );
    trace("sqlnet_trace", "server", 0, SERVER);
    trace("sqlnet_trace", "client", 1, CLIENT);
    trace(
        "sqlnet_trace",
        "both",
        1,
        &[SERVER, CLIENT, SERVER].concat(),
    );
}
