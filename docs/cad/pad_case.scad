// A pad: eight keys and four lamps of one side, in a case of two prints that holds the cable. part = "shell", "floor" or
// "all"; for the other side seat = "north". Small keys: key = 12.
//
//     openscad -D 'part="shell"' -D key=12 -o shell.stl pad_case.scad

include <shapes.scad>

part = "all";
seat = "south";       // its sign is engraved: a disc, or a diamond

// ---- what can be changed ----
key = 24;             // hole of a key: 24 for arcade buttons that snap in, 12 for small ones with a nut
collar = key + (key > 20 ? 5 : 4);   // outer diameter of its collar
below = key > 20 ? 34 : 28;          // what a key needs below the plate, with its plugs
lamp = 5;             // LEDs
ribbon = 21;          // flat cable of 16 wires, 1.27 mm each
wall = 2.4;
face = 3;             // the plate that holds the keys
floor_height = 3;
fit = 0.4;
letters = 0.6;        // depth of what is engraved
font = "Liberation Sans:style=Bold";

pitch = collar + (key > 20 ? 5 : 8);
arm = 0.8 * pitch;    // from the middle of the cross to its keys
margin = wall + 10;
lamps_depth = 27;     // the row of lamps behind the keys
low = key > 20 ? 15 : 13;            // room before the keys, for words

cross = [margin + collar / 2 + arm, margin + low + collar / 2 + arm];
block = [cross[0] + arm + collar + pitch * 0.42, cross[1] - pitch / 2];
width = block[0] + pitch + collar / 2 + margin;
depth = cross[1] + arm + collar / 2 + lamps_depth + margin - 4;
height = face + below;
post = 9;
corners = [for (x = [wall + post / 2 - 1, width - wall - post / 2 + 1], y = [wall + post / 2 - 1, depth - wall - post / 2 + 1]) [x, y]];

arrows = [[0, 1, 0], [-1, 0, 90], [0, -1, 180], [1, 0, 270]];
words = [["A", 0, 1, 1], ["B", 1, 1, 1], ["BACK", 0, 0, -1], ["READY", 1, 0, -1]];   // column, row, above or below its key
lamp_words = ["1", "2", "3", "TURN"];
function lamp_at(n) = [cross[0] - arm + n * (block[0] + pitch - cross[0] + arm) / 3, depth - margin - 4];
under = collar / 2 + 4.5;            // from a key's middle to its word

// The face as players see it, in the plane.
module key_holes() {
    for (at = arrows) translate(cross + arm * [at[0], at[1]]) circle(d = key + fit / 2);
    for (at = words) translate(block + pitch * [at[1], at[2]]) circle(d = key + fit / 2);
    for (n = [0:3]) translate(lamp_at(n)) circle(d = lamp + fit / 2);
}

module engraving() {
    size = key > 20 ? 4.6 : 3.4;
    for (at = arrows) translate(cross + (arm - collar / 2 - 3.4) * [at[0], at[1]] * (key > 20 ? 0.75 : 0.7))
        rotate(at[2]) polygon([[-2.4, -1.8], [2.4, -1.8], [0, 2.4]]);
    for (at = words) translate(block + pitch * [at[1], at[2]] + [0, at[3] * under])
        text(at[0], size, font, halign = "center", valign = "center", $fn = 12);
    for (n = [0:3]) translate(lamp_at(n) - [0, 6.5]) text(lamp_words[n], size - 0.6, font, halign = "center", valign = "center", $fn = 12);
    translate([width / 2, margin + 1]) if (seat == "south") circle(d = 7); else rotate(45) square(6, center = true);
}

// Printed on its face: mirrored, so that what players read lies on the bed.
module shell() {
    translate([width, 0, 0]) mirror([1, 0, 0]) difference() {
        union() {
            difference() {
                plate(width, depth, height, 6);
                translate([wall, wall, face]) plate(width - 2 * wall, depth - 2 * wall, height, 4);
            }
            intersection() {
                plate(width, depth, height, 6);
                for (at = corners) translate([at[0] - post / 2, at[1] - post / 2, 0]) cube([post, post, height]);
            }
        }
        translate([0, 0, -1]) linear_extrude(face + 2) key_holes();
        translate([0, 0, -eps]) linear_extrude(letters) engraving();
        for (at = corners) translate([at[0], at[1], height - 14]) cylinder(d = 2.6, h = 20);
        // the cable, at the back: its mouth is open to the floor
        translate([width / 2 - ribbon / 2 - fit, depth - wall - 1, height - 2.4]) cube([ribbon + 2 * fit, wall + 2, 3]);
    }
}

// Below: four screws, and a bridge to which a tie holds the cable.
module floor_plate() {
    difference() {
        plate(width, depth, floor_height, 6);
        for (at = corners) translate([at[0], at[1], -1]) {
            cylinder(d = 3.4, h = 10);
            cylinder(d1 = 3.4 + 2 * 3.2, d2 = 3.4, h = 3.2);
        }
        for (x = [-1, 1]) translate([width / 2 + x * (ribbon / 2 + 4) - 2, depth - wall - 14, -1]) cube([4, 2.4, 10]);
        // the tie lies in a groove, so that the pad stands flat
        translate([width / 2 - ribbon / 2 - 6, depth - wall - 14, -eps]) cube([ribbon + 12, 2.4, 1.2]);
    }
}

module all() {
    print = [0.25, 0.3, 0.38];
    color(print) translate([0, depth, height]) rotate([180, 0, 0]) translate([width, 0, 0]) mirror([1, 0, 0]) shell_seen();
    color([0.95, 0.75, 0.2]) translate([0, 0, height]) {
        for (at = arrows) translate(cross + arm * [at[0], at[1]]) button();
        for (at = words) translate(block + pitch * [at[1], at[2]]) button();
    }
    color([0.85, 0.2, 0.2]) for (n = [0:3]) translate([lamp_at(n)[0], lamp_at(n)[1], height]) {
        cylinder(d = lamp, h = 1.5);
        translate([0, 0, 1.5]) sphere(d = lamp);
    }
    color("white") translate([0, 0, height - letters]) linear_extrude(letters + 0.05) engraving();
    color("dimgray") translate([width / 2 - ribbon / 2, depth - 2, 0.6]) cube([ribbon, 60, 1]);
    color([0.2, 0.24, 0.3]) translate([0, 0, -floor_height]) floor_plate();
}

// The shell as it stands on the table.
module shell_seen() {
    translate([width, depth, 0]) rotate(180) translate([width, 0, 0]) mirror([1, 0, 0]) shell();
}

module button() {
    cylinder(d = collar, h = 2.4);
    cylinder(d = collar * 0.72, h = 5.5);
}

if (part == "all") all();
if (part == "shell") shell();
if (part == "floor") floor_plate();

assert(wall >= 2 && face >= 2 && floor_height >= 2, "walls of 2 mm at least");
assert(pitch >= collar + 2, "keys beside each other need 2 mm between their collars");
assert(arm * sqrt(2) >= collar + 2, "keys of the cross need 2 mm between their collars");
echo(size = [width, depth, height]);
