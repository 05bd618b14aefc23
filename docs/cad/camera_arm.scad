// A camera over a table: a clamp at the table's edge, an upright and a boom of round tube, and a case for a Raspberry Pi
// camera that tilts. Print six files: part = "clamp", "foot" (with its knob), "elbow", "end", "case", "lid"; "all" shows them
// together.
//
//     openscad -D 'part="clamp"' -o clamp.stl camera_arm.scad

include <shapes.scad>

part = "all";

// ---- what can be changed ----
tube = 16;            // outer diameter of the tube
table_max = 45;       // thickest table top
fit = 0.4;            // play between a print and what goes into it
wall = 5;             // around the tube
upright_length = 900; // in the picture alone, as is the next one
boom_length = 450;
paper = [430, 478];   // BINMAT's board, the largest
camera_tilt = 0;

// ---- Raspberry Pi Camera Module 1, 2 and 3 (mechanical drawings) ----
board = [25, 24];     // width, height
holes = [21, 12.5];   // distance of its four holes, M2
hole_edge = 2;        // from the upper edge and the sides
ribbon = 16;          // width of its cable
lens = 13;            // window; the lens lies between the lower two holes
lens_above = 4;       // room between the plate and the board: parts, and the foot of the lens

// ---- screws: M4 to pinch and to tilt, M8 for the table, M3 for the lid ----
m4 = 4.4;
m4_nut = 7.2;
m8 = 8.5;
m8_nut = 13.3;
m8_nut_height = 6.8;

ring = tube / 2 + wall;   // outer radius around a tube
slit = 3;
ear = 14;                 // how far the ears of a pinch stand out

// A sleeve for a tube along x, lying on z = 0, pinched from above by screws across it.
module sleeve(length, screws) {
    translate([0, 0, ring]) difference() {
        union() {
            rotate([0, 90, 0]) cylinder(r = ring, h = length, center = true);
            translate([-length / 2, -ring, -ring]) cube([length, 2 * ring, ring]);
            translate([-length / 2, -slit / 2 - 6, 0]) cube([length, slit + 12, ring + ear]);
        }
        bore(tube + fit, length + 2);
        translate([-length / 2 - 1, -slit / 2, 0]) cube([length + 2, slit, ring + ear + 1]);
        for (x = screws) translate([x, 0, ring + ear / 2]) pinch_screw();
    }
}

// Across the ears, with room for the nut on one side.
module pinch_screw() {
    rotate(90) bore(m4, 60);
    translate([0, slit / 2 + 3.2, 0]) rotate([-90, 30, 0]) nut(m4_nut, 20);
}

// ---- the clamp: a C that lies on its side, layers along the C; the upright stands in its back ----

reach = 48;           // of both jaws, over the table
jaw = [14, 20];       // thickness of the upper and the lower jaw
spine = 18;           // between table and upright
throat = table_max + 14;

module clamp() {
    height = throat + jaw[0] + jaw[1];
    thick = 2 * ring;
    difference() {
        union() {
            linear_extrude(thick) difference() {
                offset(3) offset(-3) square([spine + reach, height]);
                translate([spine, jaw[1]]) offset(2) offset(-2) square([reach + 10, throat]);
            }
            translate([-ring + 2, height / 2, 0]) rotate(90) sleeve(height, [-height / 2 + 14, height / 2 - 14]);
            translate([-2, 0, 0]) cube([spine, height, ring]);
        }
        translate([-ring + 2, height / 2, ring]) rotate(90) bore(tube + fit, height + 2);
        translate([spine + reach - 18, jaw[1] / 2, ring]) rotate(90) bore(m8, jaw[1] + 2);
        // the nut is put in from above
        translate([spine + reach - 18 - m8_nut / 2, jaw[1] - 6 - m8_nut_height, ring - m8_nut / cos(30) / 2])
            cube([m8_nut, m8_nut_height, ring + m8_nut]);
    }
}

// Under the table: the screw turns in it. And, turned over, what one turns the screw with.
module foot() {
    difference() {
        union() {
            cylinder(d = 32, h = 5);
            translate([0, 0, 5 - eps]) cylinder(d1 = 26, d2 = 18, h = 6);
        }
        translate([0, 0, 5]) cylinder(d = m8, h = 10);
    }
}

module knob() {
    difference() {
        linear_extrude(14) offset(2) offset(-2) union() {
            circle(d = 34);
            for (turn = [0:60:359]) rotate(turn) translate([17, 0]) circle(d = 10);
        }
        translate([0, 0, 14 - 6]) nut(m8_nut, 7);
        translate([0, 0, -1]) cylinder(d = m8, h = 20);
    }
}

// ---- the elbow: the upright through the standing bore, the boom through the lying one ----

elbow_length = 44;

module elbow() {
    beside = tube + 2 * wall - 1;  // from axis to axis
    difference() {
        union() {
            sleeve(elbow_length, [-elbow_length / 2 + 10, elbow_length / 2 - 10]);
            translate([0, beside, 0]) cylinder(r = ring, h = elbow_length);
            translate([-ring, 0, 0]) cube([2 * ring, beside, 2 * ring - 3]);
            translate([-slit / 2 - 6, beside, 0]) cube([slit + 12, ring + ear, elbow_length]);
        }
        translate([0, 0, ring]) bore(tube + fit, elbow_length + 2);
        translate([-elbow_length / 2 - 1, -slit / 2, ring]) cube([elbow_length + 2, slit, ring + ear]);
        translate([0, beside, -1]) cylinder(d = tube + fit, h = elbow_length + 2);
        translate([-slit / 2, beside, -1]) cube([slit, ring + ear + 1, elbow_length + 2]);
        for (z = [10, elbow_length - 10]) translate([0, beside + ring + ear / 2, z]) rotate(90) pinch_screw();
    }
}

// ---- the end of the boom: the tube stands in it, the tongue holds the camera's case ----

tongue = 8;
tongue_width = 16;
tongue_length = 22;   // to the axis on which the case tilts, so that the lid passes the sleeve
end_depth = 32;

module end() {
    top = end_depth + (tube + fit) / 2 + 2;  // a cone closes the bore without support
    difference() {
        union() {
            cylinder(r = ring, h = top);
            translate([-slit / 2 - 6, 0, 0]) cube([slit + 12, ring + ear, end_depth]);
            translate([-tongue / 2, -tongue_width / 2, top - eps]) cube([tongue, tongue_width, tongue_length]);
            translate([0, 0, top + tongue_length]) rotate([0, 90, 0]) cylinder(d = tongue_width, h = tongue, center = true);
        }
        translate([0, 0, -1]) cylinder(d = tube + fit, h = end_depth + 1);
        translate([0, 0, end_depth - eps]) cylinder(d1 = tube + fit, d2 = 0, h = (tube + fit) / 2);
        translate([-slit / 2, 0, -1]) cube([slit, ring + ear + 1, end_depth + 1]);
        for (z = [9, end_depth - 9]) translate([0, ring + ear / 2, z]) rotate(90) pinch_screw();
        translate([0, 0, top + tongue_length]) bore(m4, 40);
    }
}

// ---- the camera's case: the board lies on four posts, its lens looks through the plate ----

shell = 2.4;
room = [board[0] + 1, board[1] + 1];
case_size = [room[0] + 2 * shell, room[1] + 2 * shell];
case_depth = 15;
lug = 8;              // at both sides, for the lid's screws
lens_y = board[1] - hole_edge - holes[1];  // from the lower edge, where the cable is

module on_board() {
    translate([shell + 0.5, shell + 0.5, 0]) children();
}

module case() {
    difference() {
        union() {
            translate([-lug, 0, 0]) plate(case_size[0] + 2 * lug, case_size[1], shell, 2);
            plate(case_size[0], case_size[1], case_depth, 2);
            for (x = [-lug, case_size[0] - 2]) translate([x, case_size[1] / 2 - lug / 2, 0])
                plate(lug + 2, lug, case_depth, 2);
        }
        translate([shell, shell, shell]) cube([room[0], room[1], case_depth]);
        // the cable
        translate([(case_size[0] - ribbon - 1.5) / 2, -1, case_depth - 5]) cube([ribbon + 1.5, shell + 2, 6]);
        on_board() translate([board[0] / 2, lens_y, -eps]) {
            cylinder(d1 = lens + 2 * shell, d2 = lens, h = shell + 2 * eps);
        }
        for (x = [-lug / 2, case_size[0] + lug / 2]) translate([x, case_size[1] / 2, shell]) cylinder(d = 2.6, h = 20);
    }
    on_board() for (x = [0, holes[0]], y = [0, -holes[1]]) translate([hole_edge + x, board[1] - hole_edge + y, 0])
        difference() {
            cylinder(d = 4.4, h = shell + lens_above);
            translate([0, 0, shell]) cylinder(d = 1.7, h = 20);
        }
}

// Behind it, with the fork in which the tongue tilts.
module lid() {
    fork = 6;
    axis = 14;
    difference() {
        union() {
            translate([-lug, 0, 0]) plate(case_size[0] + 2 * lug, case_size[1], 3, 2);
            for (side = [-1, 1]) translate([case_size[0] / 2 + side * (tongue / 2 + fit / 2 + fork / 2), case_size[1] / 2, 0])
                hull() {
                    translate([-fork / 2, -10, 0]) cube([fork, 20, 3]);
                    translate([0, 0, axis]) rotate([0, 90, 0]) cylinder(d = tongue_width, h = fork, center = true);
                }
        }
        translate([case_size[0] / 2, case_size[1] / 2, axis]) bore(m4, 60);
        for (x = [-lug / 2, case_size[0] + lug / 2]) translate([x, case_size[1] / 2, -1]) cylinder(d = 3.4, h = 10);
    }
}

// ---- all of it ----

module rod(length) {
    color("silver") cylinder(d = tube, h = length);
}

module all() {
    height = throat + jaw[0] + jaw[1];
    print = [0.95, 0.75, 0.2];
    top = jaw[1] + throat;
    beside = tube + 2 * wall - 1;
    eye = [-ring + 2 + boom_length - 60 + (tube + fit) / 2 + 2 + tongue_length, beside, upright_length - 40 - 14 - case_depth];
    color([0.72, 0.55, 0.38]) translate([spine, -290, top - 28]) cube([680, 620, 28]);
    color("white") translate([eye[0] - paper[0] / 2, eye[1] - paper[1] / 2, top]) cube([paper[0], paper[1], 1]);
    for (x = [-0.5, 0.5], y = [-0.5, 0.5]) {
        corner = [eye[0] + x * paper[0], eye[1] + y * paper[1], top + 1];
        color("black") translate(corner - [x * 24, y * 24, 0]) cube([24, 24, 2], center = true);
        color([0.3, 0.5, 0.9]) hull() {
            translate(eye) sphere(d = 1, $fn = 6);
            translate(corner) sphere(d = 3, $fn = 6);
        }
    }
    color(print) translate([0, ring, 0]) rotate([90, 0, 0]) clamp();
    translate([-ring + 2, 0, 0]) {
        rod(upright_length);
        translate([0, 0, upright_length - 40]) {
            color(print) translate([0, beside, -ring]) rotate(180) elbow();
            translate([-60, beside, 0]) rotate([0, 90, 0]) rod(boom_length);
            translate([boom_length - 60 - end_depth, beside, 0]) {
                color(print) rotate([0, 90, 0]) rotate(90) end();
                translate([end_depth + (tube + fit) / 2 + 2 + tongue_length, 0, 0]) rotate([0, camera_tilt, 0]) head();
            }
        }
    }
    color(print) translate([spine + reach - 18, 0, top - 28 - 11]) foot();
    color("dimgray") translate([spine + reach - 18, 0, -30]) cylinder(d = 8, h = top - 28 - 5 + 30);
    color(print) translate([spine + reach - 18, 0, -30]) rotate([180, 0, 0]) translate([0, 0, -7]) knob();
}

// Case and lid around the tilting axis, the lens looking down.
module head() {
    color([0.95, 0.75, 0.2]) rotate(90) translate([-case_size[0] / 2, -case_size[1] / 2, -14]) {
        lid();
        translate([0, 0, -case_depth]) case();
    }
}

if (part == "all") all();
if (part == "head") {  // a picture alone
    color([0.95, 0.75, 0.2]) translate([0, 0, 0]) rotate([0, 90, 0]) rotate(90) end();
    translate([-60, 0, 0]) rotate([0, 90, 0]) rod(60 + end_depth);
    translate([end_depth + (tube + fit) / 2 + 2 + tongue_length, 0, 0]) rotate([0, -25, 0]) head();
}
if (part == "clamp") clamp();
if (part == "foot") {
    foot();
    translate([45, 0, 0]) knob();
}
if (part == "elbow") elbow();
if (part == "end") end();
if (part == "case") case();
if (part == "lid") lid();

assert(case_depth > shell + lens_above + 6, "the board's connector needs 6 mm behind it");
assert(wall >= 3 && shell >= 2, "walls of 2 mm at least");
assert(room[0] > board[0] && room[1] > board[1]);
